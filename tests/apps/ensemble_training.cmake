# Runs the example with few steps: every member and all together must be far better than chance.
#
#   cmake -D program=<the binary> -D work=<scratch> -P ensemble_training.cmake
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")
execute_process(COMMAND "${program}" run 30 WORKING_DIRECTORY "${work}" TIMEOUT 280
  RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(NOT result STREQUAL 0)
  message(FATAL_ERROR "ended with ${result}:\n${out}${err}")
endif()
foreach(member IN ITEMS mlp cnn3 cnn5 together)
  if(NOT out MATCHES "${member} +accuracy 0.[5-9]")
    message(SEND_ERROR "${member} has not learned:\n${out}")
  endif()
endforeach()
foreach(member IN ITEMS mlp cnn3 cnn5)
  if(NOT EXISTS "${work}/run/${member}/ckpt-30.manifest")
    message(SEND_ERROR "${member} has no checkpoint of step 30")
  endif()
endforeach()
