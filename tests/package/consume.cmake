# Installs a build of attest to a prefix of its own; configures, builds and runs the consumer against it.
# cmake -D build=BUILD -D work=FOLDER -D generator=G -D compiler=CXX -D flags=FLAGS -P consume.cmake
function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${work})
step(${CMAKE_COMMAND} --install ${build} --prefix ${work}/prefix OUTPUT_QUIET)
step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${work}/build -G ${generator}
     -D CMAKE_PREFIX_PATH=${work}/prefix -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_FLAGS=${flags}
     -D CMAKE_BUILD_TYPE=Debug -D CMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON)
step(${CMAKE_COMMAND} --build ${work}/build)
step(${work}/build/consumer)
