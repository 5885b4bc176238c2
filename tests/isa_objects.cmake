# cmake -D NM=<nm> -D LEVEL=v2 -D OBJECTS=<file>:<file>... -P isa_objects.cmake
#
# Fails when an object of one instruction set defines a weak symbol that does not
# carry the name of its level. Any other object may define the same symbol, the
# linker keeps one of them, and the program runs an instruction that the
# processor does not have, or the slow one.
string(REPLACE ":" ";" objects "${OBJECTS}")
execute_process(COMMAND "${NM}" --defined-only --extern-only ${objects}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES " T [^\n]*${LEVEL}")
  message(FATAL_ERROR "${OBJECTS} define no function of ${LEVEL}")
endif()

string(REPLACE "\n" ";" symbols "${symbols}")
foreach(line IN LISTS symbols)
  if(line MATCHES " [WVu] (.*)$")
    set(symbol "${CMAKE_MATCH_1}")
    # DW.ref is a pointer to the handler of exceptions, the same for all.
    if(NOT symbol MATCHES "${LEVEL}|^DW\\.ref\\.")
      message(SEND_ERROR "an object of ${LEVEL} defines ${symbol}, as others may")
    endif()
  endif()
endforeach()
