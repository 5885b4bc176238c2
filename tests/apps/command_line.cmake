# Runs the command `troupe` and checks exit codes and words, as a user meets them.
#
#   cmake -D troupe=<the binary> -D work=<scratch> -P command_line.cmake
include("${CMAKE_CURRENT_LIST_DIR}/expect.cmake")

# ---- wrong command lines end with 2 and say what is wrong

expect(2 "unknown command 'foo' .there are: train" foo)
expect(2 "unknown command 'tran'; did you mean 'train'" tran)
expect(2 "no program is called 'fashion'; there are: fashion-mnist, .*did you mean 'fashion-mnist'"
  train fashion)
expect(2 "--sync.* --async|--async.* --sync" train headline --async --sync)
expect(2 "no optimizer is called 'sgdd'" train headline --optimizer sgdd)
expect(2 "momentum" train headline --optimizer "momentum(7)")
expect(2 "no schedule is called 'steep'" train headline --learning-rate "steep(1)")
expect(2 "below 1, but is 2" train headline --average 2)
expect(2 "--sync.* --policy|--policy.* --sync" train headline --policy async --sync)
expect(2 "no policy is called 'asink'; there are: async, local, ssp, sync"
  train headline --policy asink)
expect(2 "option 'bound' of policy 'ssp'" train headline --policy ssp:-2)
expect(2 "a staleness rule is 'keep'" train headline --async --staleness often)
expect(2 "not finite is 'fail', 'skip' or 'ignore'" train headline --not-finite maybe)
expect(2 "no placement" train headline --placement nowhere)
expect(2 "is no regular file" --config /dev/zero train headline)
expect(2 "must be from 1 to 86400, but is nan" explain headline --seconds nan)
expect(2 "the headline program needs --features" train headline)
expect(2 "must be at least 1, but is 0" train headline --replicas 0)
expect(2 "explain needs a program" explain)
foreach(seed IN ITEMS -1 18446744073709551616 1.5 x)
  foreach(command IN ITEMS "train;headline" "make-data;headline" "make-data;cifar10" "data;x.pbtxt")
    expect(2 "--seed: must be a whole number from 0 to 18446744073709551615, but is '${seed}'"
      ${command} --seed ${seed})
  endforeach()
endforeach()
expect(2 "--resume-from.*--resume|--resume.*--resume-from" train headline --resume --resume-from 3)

# ---- a small job

expect(0 "wrote data/features.txt" make-data headline --samples 300 --test-samples 20 -d data)
set(data --features data/features.txt --labels data/labels.txt)
set(small ${data} --batch 50 --capacity 120 --min-after-dequeue 20 --no-summaries)

expect(0 "all steps done: step 6.*limit: .*checkpoint: run/ckpt-6"
  train headline ${small} --steps 6 --checkpoint-every 3 -d run)
file(GLOB rewritten "${work}/run/*rewrite*")
if(rewritten)
  message(SEND_ERROR "the last checkpoint was written twice: ${rewritten}")
endif()
expect(1 "run has checkpoints of an earlier run" train headline ${small} --steps 6 -d run)
expect(0 "step 8" train headline ${small} --steps 8 --resume -d run)
expect(0 "step 5" train headline ${small} --steps 5 --resume-from run/ckpt-3 -d other)
expect(1 "run has other checkpoints, up to step 8"
  train headline ${small} --steps 5 --resume-from 3 -d run)
expect(0 "step 9" train headline ${small} --steps 9 --resume-from 8 -d run)
expect(1 "not found" train headline ${small} --steps 9 --resume-from 77 -d run)
expect(0 "data: [0-9,]+ records trained on, .*every checksum is right" inspect run/last --verify)
expect(0 "all steps done: step 3"
  train headline ${small} --steps 3 --no-data-state -d bare)
expect(0 "all steps done: step 4" train headline ${small} --steps 4 --resume -d bare)
expect(0 "all steps done: step 10" train headline ${small} --steps 10 --resume --data-from-start -d run)
expect(2 "--patience needs --test-features" train headline ${small} --patience 2)

# ---- recordings

set(two ${small} --steps 6 --no-checkpoints --replicas 2 --async)
expect(0 "all steps done: step 6" train headline ${two} --record recording)
expect(0 "all steps done: step 6" train headline ${two} --replay recording)
expect(1 "is the recording of another run" train headline ${two} --replay recording --seed 7)
expect(1 "there is no recording nowhere/decisions" train headline ${two} --replay nowhere)
expect(2 "--record" train headline ${two} --replay recording --record recording)

foreach(policy IN ITEMS sync sync:backups=1 sync:quorum=3 async ssp:1 local:2)
  expect(0 "2 replicas, ${policy} <-> .*all steps done: step 5,.*policy:     ${policy}, "
    train headline ${small} --steps 5 --no-checkpoints --replicas 2 --policy ${policy})
endforeach()
expect(0 "2 replicas, async:staleness=weight <-> .*all steps done: step 5,"
  train headline ${small} --steps 5 --no-checkpoints --replicas 2 --async --staleness weight
  --clip-norm 0.1 --round-deadline 100 --leave-out-late --restarts 3
  --restart-period 60 --restart-delay 0.05)
expect(0 "2 replicas, sync <-> 2 shards.*[*]biases: async, in 1 shard of their own.*all steps done: step 5,.*policy of [*]biases: async, 10 updates"
  train headline ${small} --steps 5 --no-checkpoints --replicas 2 --policy-for *biases=async)
expect(2 "a policy for some variables is NAMES=POLICY" train headline --policy-for async)
expect(2 "no policy is called 'asink'" train headline --policy-for *biases=asink)
expect(2 "no variable is called so" train headline ${small} --policy-for nothing=async)
expect(0 "all steps done: step 2, 200 samples"
  train headline ${small} --steps 2 --no-checkpoints --accumulate 2)
expect(2 "sync:backups=2.*nobody to wait for|nobody to wait for"
  train headline ${small} --replicas 2 --policy sync:backups=2)

# ---- graphs

file(WRITE "${work}/placed.pbtxt" "
format_version: 1
nodes { name: 'x' op: 'placeholder'
  attributes { key: 'dtype' value { dtype: 'float32' } }
  attributes { key: 'shape' value { shape { extents: 2 } } } }
nodes { name: 'y' op: 'tanh' inputs: 'x' device: '/cpu:1' }
nodes { name: 'z' op: 'exp' inputs: 'y' colocated_with: 'x' }
")
expect(0 "y: .tanh.: /job:localhost/replica:0/task:0/device:CPU:1  # asked for /device:CPU:1.*2 of 3 nodes on [^\n]*CPU:0"
  inspect placed.pbtxt --placement --device /cpu:0 --device /cpu:1)
expect(1 "'y' was explicitly assigned to /device:CPU:1 but available devices are" inspect placed.pbtxt --placement)
expect(0 "soft placement" inspect placed.pbtxt --placement --soft-placement)
expect(2 "--placement" inspect placed.pbtxt --device /cpu:0)
expect(2 "is for graphs" inspect run --placement)

# ---- data

file(WRITE "${work}/train.pbtxt" "
stream {
  reader { name: 'text' option { name: 'files' value: 'data/features.txt' } }
  decoder { name: 'numbers' option { name: 'shape' value: '20,195,1' } }
}
stream {
  reader { name: 'text' option { name: 'files' value: 'data/labels.txt' } }
  decoder { name: 'numbers' option { name: 'shape' value: '15' } }
}
shuffle { capacity: 120 min_after_dequeue: 20 }
batch { rows: 40 remainder: DROP }
")
expect(0 "batch 1.*float32 .40, 20, 195, 1.*2 batches, 80 examples.*decoders" data train.pbtxt --batches 2)
expect(0 "7 batches, 280 examples.*the data have ended" data train.pbtxt --batches 100)
expect(0 "component 1: float32 .15." data train.pbtxt --plan)

file(WRITE "${work}/rows.txt" "1\n2\nbad\n4\n")
set(rows "stream {
  reader { name: 'text' option { name: 'files' value: 'rows.txt' } }
  decoder { name: 'numbers' option { name: 'shape' value: '1' } }
}
batch { rows: 2 remainder: KEEP }
fifo { capacity: 9 }
")
file(WRITE "${work}/rows.pbtxt" "${rows}")
expect(1 "batch 0.*1 to 2.*rows.txt:3.*is not a number" data rows.pbtxt)
file(WRITE "${work}/skipped.pbtxt" "${rows} decoding { skip_bad_records: 1 }")
expect(0 "2 batches, 3 examples.*the data have ended.*1 bad record.*rows.txt:3" data skipped.pbtxt)
string(REPLACE "fifo { capacity: 9 }" "shuffle { capacity: 9 min_after_dequeue: 10 }" floor "${rows}")
file(WRITE "${work}/floor.pbtxt" "${floor}")
expect(1 "min_after_dequeue" data floor.pbtxt)
refuse_words("--min-after-dequeue" data floor.pbtxt)

file(WRITE "${work}/wrong.pbtxt" "stream {\n  reader { name: 'txt' }\n  decoder { }\n}\n")
expect(1 "wrong.pbtxt:2:3: no reader is called 'txt'; there are: csv" data wrong.pbtxt)

# ---- explain

expect(0 "decoder 0 .*CPU of this process.*limit: "
  explain headline ${data} --batch 50 --capacity 120 --min-after-dequeue 20 --seconds 1
  --json explained.json)
file(READ "${work}/explained.json" json)
string(JSON role GET "${json}" actors 1 role)
string(JSON limit GET "${json}" finding limit)
expect(0 "caf.clock +[0-9]+ %  timers of all actors"
  explain threads headline ${data} --batch 50 --capacity 120 --min-after-dequeue 20 --seconds 1)
expect(0 "reader +[0-9]+ %  actor 'reader', which blocks on files"
  explain headline threads ${data} --batch 50 --capacity 120 --min-after-dequeue 20 --seconds 1)
if(EXISTS "${work}/run/headline")
  message(SEND_ERROR "explain left a run behind")
endif()

# ---- failures in plain words

file(READ "${work}/data/labels.txt" labels)
file(WRITE "${work}/blank.txt" "${labels}\n\n")
expect(1 "blank.txt:301" train headline --features data/features.txt --labels blank.txt
  --batch 50 --capacity 120 --min-after-dequeue 20 --no-summaries --no-checkpoints)
refuse_words("Options::|FIFOQueue|RandomShuffleQueue" train headline
  --features data/features.txt --labels blank.txt
  --batch 50 --capacity 120 --min-after-dequeue 20 --no-summaries --no-checkpoints)
refuse_words("Options::|FIFOQueue|RandomShuffleQueue" train headline ${data}
  --batch 50 --capacity 10 --min-after-dequeue 20 --no-summaries --no-checkpoints)
# A file that may not grow is as good as a full disk: nothing is left behind.
foreach(program IN ITEMS headline cifar10)
  expect_sh("ulimit -f 100; exec \"$0\" \"$@\"" 1
    "resource exhausted: cannot write cut/[a-z_0-9]+[.][a-z]+[.]tmp: File too large"
    make-data ${program} --samples 40 -d cut)
endforeach()
file(GLOB left "${work}/cut/*")
if(left)
  message(SEND_ERROR "make-data left behind: ${left}")
endif()
expect(0 "wrote cut/features.txt" make-data headline --samples 3 --test-samples 1 -d cut)
file(READ "${work}/cut/features.txt" before)
expect_sh("ulimit -f 100; exec \"$0\" \"$@\"" 1 "File too large"
  make-data headline --samples 40 --seed 7 -d cut)
file(READ "${work}/cut/features.txt" after)
if(NOT before STREQUAL after)
  message(SEND_ERROR "make-data has changed files without writing them to their end")
endif()

file(WRITE "${work}/a-file" "")
expect(1 "cannot make the directory a-file/x: Not a directory" make-data headline -d a-file/x)

# ---- nobody reads any more: quiet, and 141 as a shell has it

string(CONCAT closed "rm -f pipe; mkfifo pipe; (: <pipe) & exec 4>pipe; wait; "
  "exec \"$0\" \"$@\" >&4")
foreach(command IN ITEMS "predict;run;--features;data/features.txt;--rows;0"
    "predict;run;--features;data/features.txt;--rows;1" "inspect;run" "data;train.pbtxt"
    "data;train.pbtxt;--plan"
    "eval;run;--features;data/test_features.txt;--labels;data/test_labels.txt"
    "make-data;headline;--samples;3;--test-samples;1;-d;cut")
  expect_sh("${closed}" 141 "^$" ${command})
endforeach()
expect_sh("${closed}" 141 "^$" train headline ${small} --steps 4 -d unread)
expect(0 "unread/ckpt-4: step 4" inspect unread)
expect_sh("${closed}" 1 "blank.txt:301" train headline --features data/features.txt
  --labels blank.txt --batch 50 --capacity 120 --min-after-dequeue 20 --no-summaries
  --no-checkpoints)

# ---- several checkpoints that answer together

set(test --features data/test_features.txt --labels data/test_labels.txt)
expect(0 "run at step 10: rmse .*other at step 5: rmse .*together .mean.: 20 examples, rmse"
  eval run other ${test})
expect(0 "together .weighted:0.7,0.3.: 20 examples" eval run other ${test}
  --combine weighted:0.7,0.3)
set(ask predict run other --features data/test_features.txt --rows 2)
expect(0 "row 1: " ${ask} --combine vote --quorum 1 --deadline-ms 60000)
expect(0 "{\"row\":1,\"predictions\":.[0-9.e,-]+.}" ${ask} --json)
expect(2 "there are 2 checkpoints, but --combine has 3 weights" ${ask} --combine weighted:1,2,3)
expect(2 "a weight is a number above 0, but '-1' was given" ${ask} --combine weighted:-1,2)
expect(2 "there is no combiner 'median'" ${ask} --combine median)
expect(2 "--quorum is 3, but there are 2 checkpoints" ${ask} --quorum 3)
expect(2 "run is given twice" predict run run --features data/test_features.txt)
expect(1 "not found" ${ask} nowhere)
expect(0 "2 replicas.*devices: 2, replica i on device i modulo 2.*step 2"
  train headline ${small} --steps 2 --no-checkpoints --replicas 2 --devices 2)
expect(2 "must be at least 1, but is 0" train headline --devices 0)

# ---- checkpoints and programs that do not belong together

expect(2 "run/ckpt-10 is a checkpoint of the program 'headline', not of 'fashion-mnist'"
  eval run --program fashion-mnist)
expect(2 "is a checkpoint of the program 'headline', not of 'cifar10'"
  predict run --program cifar10 --data nowhere)
expect(0 "20 examples" eval run --program headline
  --features data/test_features.txt --labels data/test_labels.txt)
file(MAKE_DIRECTORY "${work}/run/ckpt-99.manifest")
expect(1 "ckpt-99.manifest is a directory instead of a manifest; the checkpoint before it is whole: run/ckpt-10"
  inspect run)
file(REMOVE_RECURSE "${work}/run/ckpt-99.manifest")

# ---- CIFAR-10 with a file too few

expect(0 "wrote cifar10" make-data cifar10 --samples 50 --test-samples 10 -d cifar10)
set(plan --plan --no-summaries --no-checkpoints)
expect(0 "5 files" train cifar10 --data cifar10 ${plan})
file(REMOVE "${work}/cifar10/data_batch_3.bin" "${work}/cifar10/data_batch_5.bin")
expect(1 "2 of the 5 training files are missing in cifar10: data_batch_3.bin, data_batch_5.bin .--allow-missing"
  train cifar10 --data cifar10 ${plan})
expect(0 "warning: 2 of the 5 .*data_batch_5.bin" train cifar10 --data cifar10 --allow-missing ${plan})
expect(0 "1 file|data_batch_1" train cifar10 --features cifar10/data_batch_1.bin
  --test-features cifar10/test_batch.bin ${plan})

# ---- what a terminal would obey is shown, not sent

string(ASCII 27 escape)
file(WRITE "${work}/escape.pbtxt" "stream {\n  reader { name: 'a\\033[31mb' }\n  decoder { }\n}\n")
expect(1 "no reader is called 'a.x1b.31mb'" data escape.pbtxt)
refuse_words("${escape}" data escape.pbtxt)
file(WRITE "${work}/escape.txt" "1\n${escape}[31m\n")
string(REPLACE "rows.txt" "escape.txt" escapes "${rows}")
file(WRITE "${work}/escape.pbtxt" "${escapes}")
refuse_words("${escape}" data escape.pbtxt)
file(WRITE "${work}/words.txt" "${escape}[31m\n")
file(WRITE "${work}/words.pbtxt" "stream {
  reader { name: 'text' option { name: 'files' value: 'words.txt' } }
  decoder { name: 'raw' option { name: 'dtype' value: 'string' } option { name: 'shape' value: '' } }
}
batch { rows: 1 remainder: KEEP }
fifo { }
")
expect(0 "string .1.  .*x1b.31m" data words.pbtxt)
refuse_words("${escape}" data words.pbtxt)
file(WRITE "${work}/graph${escape}[31m.pb" "rubbish")
refuse_words("${escape}" inspect "graph${escape}[31m.pb")

# ---- files that describe the impossible

string(REPLACE "decoder {" "decoder { name: 'numbers' option { name: 'shape' value: '1' } }\n  decoder {"
  decoders "${rows}")
file(WRITE "${work}/decoders.pbtxt" "${decoders}")
expect(1 "decoders.pbtxt:4:3: reader 'text' gives 1 stream of records, which needs 1 decoder, but there are 2"
  data decoders.pbtxt --plan)
string(REPLACE "value: '1'" "value: '1099511627776,4194304'" huge "${rows}")
file(WRITE "${work}/huge.pbtxt" "${huge}")
expect(1 "huge.pbtxt:5:9: a batch of 2 rows would have more than 2.47 bytes" data huge.pbtxt --plan)
