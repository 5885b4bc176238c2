# Plans, draws and trains what topology files describe, with the command `troupe`: the files of
# apps/examples/topologies, on a few images of noise.
#
#   cmake -D troupe=<the binary> -D work=<scratch> -D examples=<the files> -P topologies.cmake
include("${CMAKE_CURRENT_LIST_DIR}/expect.cmake")
file(COPY "${examples}/" DESTINATION "${work}" FILES_MATCHING PATTERN "*.pbtxt")

# ---- forty images of noise, in IDX files

function(shell line)
  execute_process(COMMAND sh -c "${line}" WORKING_DIRECTORY "${work}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()
shell("printf '\\000\\000\\010\\003\\000\\000\\000\\050\\000\\000\\000\\034\\000\\000\\000\\034' > images.idx
  head -c 31360 /dev/urandom >> images.idx
  printf '\\000\\000\\010\\001\\000\\000\\000\\050' > labels.idx
  for i in 1 2 3 4; do printf '\\000\\001\\002\\003\\004\\005\\006\\007\\010\\011' >> labels.idx; done")
set(small)
foreach(data IN ITEMS data evaluation.data)
  list(APPEND small
    --set "${data}.stream[0].reader.option[files].value[0]=images.idx"
    --set "${data}.stream[1].reader.option[files].value[0]=labels.idx"
    --set ${data}.batch.rows=10)
endforeach()
list(APPEND small --set data.shuffle.capacity=30 --set data.shuffle.min_after_dequeue=10
  --set data.epochs=1)

# ---- data parallel

# The network itself where it is only looked at; a smaller one where it runs.
set(tiny ${small} --set "model.layer[fc1].dense.units=16" --set "model.layer[conv2].conv2d.filters=8")

expect(0 "2 +replicas .*5 rows each, sync.*predicted bottleneck: " plan fashion_mnist.pbtxt ${small})
expect(0 "fc1/weights +float32 .3136, 1024. .*shard 0 +the largest.*replica -> shard 0 +gradients +12.2 MiB  each step"
  plan fashion_mnist.pbtxt --explain ${small})
expect(0 "measured: .*3 steps: .*replica 1 .*limit: "
  plan fashion_mnist.pbtxt ${tiny} --measure 3)
if(EXISTS "${work}/run")
  message(SEND_ERROR "a plan left a run behind")
endif()
expect(0 "end of the data: step 4.*test: +loss.*checkpoint: one/ckpt-4"
  run fashion_mnist.pbtxt ${tiny} -d one --no-summaries)
expect(1 "one has checkpoints of an earlier run" run fashion_mnist.pbtxt ${tiny} -d one)
expect(0 "step 6" run fashion_mnist.pbtxt ${tiny} -d one --resume
  --set data.epochs=2 --set max_steps=6)
expect(0 "all steps done: step 2.*policy: +async"
  run fashion_mnist.pbtxt ${tiny} --no-checkpoints --no-summaries
  --set aggregation.policy=async --set max_steps=2)
expect(0 "every checksum is right" inspect one --verify)

# ---- the others

expect(0 "stage 1 .*conv2, pool2; at most 2 micro-batches under way.*stages wait 17 %"
  plan stages.pbtxt ${small})
expect(0 "3 stages.*end of the data: step 4.*test: +loss .*, accuracy .*checkpoint: two/ckpt-4"
  run stages.pbtxt ${tiny} -d two --set threads.intra_op=1)
expect(0 "stage_1/conv2/weights" inspect two)
expect(1 "two has checkpoints of an earlier run" run stages.pbtxt ${tiny} -d two)
expect(0 "3 stages.*end of the data: step 8.*checkpoint: two/ckpt-8"
  run stages.pbtxt ${tiny} -d two --resume --set data.epochs=2 --set checkpoints.every=3
  --set deterministic=true)
expect(0 "member mlp.*member cnn5.*on the evaluation set:.*mlp +accuracy.*together +accuracy"
  run ensemble.pbtxt ${small} -d three --no-summaries)
expect(0 "data: [0-9,]+ records trained on.* batch [0-9]+ comes next"
  inspect three/mlp --verify)
expect(0 "devices: 2, shared by all members.*together +accuracy"
  run ensemble.pbtxt ${small} -d three --no-summaries --resume --set devices=2)
expect(0 "member cnn3.*device CPU:1 .*runs all graphs"
  plan ensemble.pbtxt ${small} --set devices=2 --set ensemble.member[cnn3].device=/cpu:1)
expect(2 "meet in their checkpoints" run ensemble.pbtxt ${small} --no-checkpoints)
expect(0 "wrote data/features.txt" make-data headline --samples 60 --test-samples 20 -d data)
expect(0 "all steps done: step 3" run headline.pbtxt --set max_steps=3 -d four --no-summaries
  --set data.batch.rows=20 --set data.shuffle.capacity=60 --set data.shuffle.min_after_dequeue=20)

# ---- pictures

expect(0 "digraph topology .*2 x replicas" graph fashion_mnist.pbtxt ${small})
expect(0 "wrote run.dot: topology fashion-mnist" graph fashion_mnist.pbtxt ${small} -o run.dot)
expect(0 "wrote ens-1.dot.*wrote ens-4.dot: .*answering together" graph ensemble.pbtxt ${small} -o ens.dot)
expect(0 "digraph model .*stage_0/conv1/weights. -> .stage_0/conv1/conv2d"
  graph stages.pbtxt ${small} --model)
expect(1 "-o run.jpg: a picture ends in .svg, .png or .pdf, Graphviz's language in .dot"
  graph fashion_mnist.pbtxt ${small} -o run.jpg)
expect_sh("PATH=/nowhere; export PATH; exec \"$0\" \"$@\"" 1
  "needs the command dot of Graphviz, which is not installed: apt-get install graphviz"
  graph fashion_mnist.pbtxt ${small} -o run.svg)
find_program(dot dot)
if(dot)
  expect(0 "wrote run.svg" graph fashion_mnist.pbtxt ${small} -o run.svg)
  file(READ "${work}/run.svg" picture)
  if(NOT picture MATCHES "2 x replicas")
    message(SEND_ERROR "run.svg shows no replicas")
  endif()
endif()

# ---- what is wrong is told at once

file(WRITE "${work}/wrong.pbtxt" "replcas: 2\nmodel { layer { dens { units: 3 } } loss: 'x' }\n")
expect(1 "wrong.pbtxt:1:1: there is no field 'replcas'; did you mean 'replicas'.*wrong.pbtxt:2:17: there is no field 'dens'; did you mean 'dense'.*wrong.pbtxt:1:1: a topology has data.*wrong.pbtxt:2:9: a layer is one of.*wrong.pbtxt:2:37: no loss is called 'x'"
  run wrong.pbtxt)
expect(1 "not found: .*gone.pbtxt" run gone.pbtxt)
expect(2 "a setting looks like" run fashion_mnist.pbtxt --set replicas)
expect(1 "--set replicas=x: field 'replicas' is a whole number" run fashion_mnist.pbtxt --set replicas=x)

# ---- a run that goes on is looked at, changed and stopped

string(CONCAT edited
  "\"$0\" run fashion_mnist.pbtxt \"$@\" > five.log 2>&1 & run=$!\n"
  "n=0; until \"$0\" edit five status 2>/dev/null | grep -q 'step [1-9]'; do\n"
  "  n=$((n + 1)); [ $n -lt 600 ] || exit 9; kill -0 $run || { cat five.log; exit 8; }\n"
  "  sleep 0.1; done\n"
  "\"$0\" edit five policy asink 2>&1; \"$0\" edit five polcy async 2>&1\n"
  "\"$0\" edit five replicas 3 && \"$0\" edit five remove-replica replica 0\n"
  "\"$0\" edit five readers 2 && \"$0\" edit five remove-reader && \"$0\" edit five decoders 3\n"
  "\"$0\" edit five readers many 2>&1; \"$0\" edit five replicas 0 2>&1\n"
  "\"$0\" edit five policy async && \"$0\" edit five explain && \"$0\" edit five stop\n"
  "wait $run; code=$?; cat five.log; ls five; exit $code")
expect_sh("${edited}" 130
  "no policy is called 'asink'.*did you mean 'policy'.*joining: replica 2.*replica 0 leaves when.*joining: reader 1.*reader 1 leaves, and hands back.*(joining|leaving): decoder ..*say how many: readers 4.*replicas must be at least 1.*the policy will be async.*replica 1 .*the run ends after the step.*stopped: step "
  ${tiny} --set data.epochs=0 -d five --no-summaries --set evaluation.every=0
  --progress-interval 0.1)

# ---- a terminal that is closed ends a run like Ctrl-C

string(CONCAT hung_up
  "env --default-signal=HUP \"$0\" run fashion_mnist.pbtxt \"$@\" > hung.log 2>&1 & run=$!\n"
  "n=0; until \"$0\" edit hung status 2>/dev/null | grep -q 'step [1-9]'; do\n"
  "  n=$((n + 1)); [ $n -lt 600 ] || exit 9; kill -0 $run || { cat hung.log; exit 8; }\n"
  "  sleep 0.1; done\n"
  "kill -HUP $run; wait $run; code=$?; cat hung.log; ls hung; exit $code")
expect_sh("${hung_up}" 130 "stopped: step .*ckpt-[0-9]+.manifest"
  ${tiny} --set data.epochs=0 -d hung --no-summaries --set evaluation.every=0
  --progress-interval 0.1)

# ---- members of an ensemble come and go

shell("sed 's/name: \"mlp\"/name: \"late\"/' ensemble.pbtxt > late.pbtxt
  sed 's/relu/rleu/' late.pbtxt > wrong.pbtxt")
string(CONCAT edited
  "\"$0\" run ensemble.pbtxt \"$@\" > six.log 2>&1 & run=$!\n"
  "n=0; until \"$0\" edit six status 2>/dev/null | grep -q 'mlp .*step [1-9]'; do\n"
  "  n=$((n + 1)); [ $n -lt 600 ] || exit 9; kill -0 $run || { cat six.log; exit 8; }\n"
  "  sleep 0.1; done\n"
  "\"$0\" edit six join wrong.pbtxt late 2>&1; \"$0\" edit six join late.pbtxt nobody 2>&1\n"
  "\"$0\" edit six join ensemble.pbtxt mlp 2>&1; \"$0\" edit six polcy 2>&1\n"
  "\"$0\" edit six join late.pbtxt late && \"$0\" edit six member cnn3 policy async\n"
  "\"$0\" edit six member cnn3 replicas 2 && \"$0\" edit six leave cnn5 && \"$0\" edit six readers 2 2>&1; \"$0\" edit six decoders 3\n"
  "\"$0\" edit six member nobody status 2>&1; \"$0\" edit six members\n"
  "n=0; until \"$0\" edit six status 2>/dev/null | grep -q 'late .*step [1-9]'; do\n"
  "  n=$((n + 1)); [ $n -lt 600 ] || exit 7; sleep 0.1; done\n"
  "\"$0\" edit six stop; wait $run; code=$?; cat six.log; ls six; exit $code")
expect_sh("${edited}" 130
  "wrong.pbtxt:[0-9]+:[0-9]+: .*has no member 'nobody'; there are: late, cnn3, cnn5.*member called 'mlp' already.*no order 'polcy' for members.*member 'late' joins.*the policy will be async.*joining: replica 1.*member 'cnn5' ends after.*is read by one reader.*(joining|leaving): decoder.*no member 'nobody'.*late.*member late"
  ${small} --set data.epochs=0 -d six --no-summaries --progress-interval 0.1)

expect(1 "no run listens at five/control.sock" edit five status)
expect(0 "orders:.*policy P" edit --help)
