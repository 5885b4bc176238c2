# For scripts that run the command `troupe`, which is in ${troupe}, in an empty folder ${work}.
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")
set(failures 0)

# expect(<exit code> <regex of stdout and stderr together> <argument>...)
function(expect code words)
  execute_process(COMMAND "${troupe}" ${ARGN} WORKING_DIRECTORY "${work}" TIMEOUT 120
    RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
  string(APPEND out "${err}")
  if(NOT result STREQUAL "${code}" OR NOT out MATCHES "${words}")
    string(REPLACE ";" " " line "${ARGN}")
    message(SEND_ERROR "troupe ${line}\n  wanted ${code} and \"${words}\"\n  got ${result}:\n${out}")
  endif()
endfunction()

function(refuse_words words)
  execute_process(COMMAND "${troupe}" ${ARGN} WORKING_DIRECTORY "${work}" TIMEOUT 120
    OUTPUT_VARIABLE out ERROR_VARIABLE err)
  string(APPEND out "${err}")
  if(out MATCHES "${words}")
    string(REPLACE ";" " " line "${ARGN}")
    message(SEND_ERROR "troupe ${line}\n  must not say \"${words}\":\n${out}")
  endif()
endfunction()

# The same for a line of the shell, in which "$0" is the command: expect_sh(<line> <code> <regex>
# <argument>...)
function(expect_sh line code words)
  execute_process(COMMAND sh -c "${line}" "${troupe}" ${ARGN} WORKING_DIRECTORY "${work}"
    TIMEOUT 120 RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
  string(APPEND out "${err}")
  if(NOT result STREQUAL "${code}" OR NOT out MATCHES "${words}")
    string(REPLACE ";" " " arguments "${ARGN}")
    message(SEND_ERROR "${line}: troupe ${arguments}\n  wanted ${code} and \"${words}\"\n"
      "  got ${result}:\n${out}")
  endif()
endfunction()
