# solder as the device linker of a CMake project.
#
# nvcc starts the nvlink beside it, so the compiler of the project becomes the nvcc of a shadow of the toolkit: a folder
# of symbolic links in which nvlink is solder (`solder shadow`). Include this file before project(), or hand it to CMake
# as CMAKE_PROJECT_TOP_LEVEL_INCLUDES or CMAKE_TOOLCHAIN_FILE. Then
#
#     solder_use(target [OPTIONS word...])
#
# makes a target's device code be linked by solder, with further options of a link, such as --explain.
#
#   SOLDER_PROGRAM   the program; looked for on PATH
#   SOLDER_TOOLKIT   the root of the CUDA toolkit; without it the one that `solder shadow` finds (CUDA_HOME, CUDA_PATH,
#                    the nvcc on PATH)
#   SOLDER_SHADOW    the folder of the shadow; in the build folder unless it is given

include_guard(GLOBAL)

# A trial of CMake's own gets the compiler from the project.
if(NOT CMAKE_IN_TRY_COMPILE AND NOT DEFINED CMAKE_CUDA_COMPILER)
  find_program(SOLDER_PROGRAM solder DOC "The device linker")
  if(NOT SOLDER_PROGRAM)
    message(FATAL_ERROR "SolderCUDA: the program 'solder' was not found; name it with -DSOLDER_PROGRAM=...")
  endif()
  if(NOT SOLDER_SHADOW)
    set(SOLDER_SHADOW "${CMAKE_BINARY_DIR}/cuda-solder" CACHE PATH "A CUDA toolkit in which nvlink is solder")
  endif()
  set(_solder_words shadow "${SOLDER_SHADOW}")
  if(SOLDER_TOOLKIT)
    list(APPEND _solder_words --toolkit "${SOLDER_TOOLKIT}")
  endif()
  execute_process(
    COMMAND "${SOLDER_PROGRAM}" ${_solder_words}
    RESULT_VARIABLE _solder_result
    OUTPUT_VARIABLE _solder_text
    ERROR_VARIABLE _solder_text)
  if(NOT _solder_result EQUAL 0)
    message(FATAL_ERROR "SolderCUDA: ${SOLDER_PROGRAM} shadow failed:\n${_solder_text}")
  endif()
  set(CMAKE_CUDA_COMPILER "${SOLDER_SHADOW}/bin/nvcc" CACHE FILEPATH "CUDA compiler")
  set(CUDAToolkit_ROOT "${SOLDER_SHADOW}" CACHE PATH "The root of the CUDA toolkit")
endif()

function(solder_use target)
  cmake_parse_arguments(PARSE_ARGV 1 use "" "" "OPTIONS")
  if(use_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "solder_use: unknown word ${use_UNPARSED_ARGUMENTS}")
  endif()
  get_filename_component(bin "${CMAKE_CUDA_COMPILER}" DIRECTORY)
  if(NOT EXISTS "${bin}/../.solder-shadow")
    message(FATAL_ERROR "solder_use: the CUDA compiler ${CMAKE_CUDA_COMPILER} is not in a shadow of solder; "
                        "include SolderCUDA.cmake before project(), or set CMAKE_CUDA_COMPILER to that of one")
  endif()
  set_target_properties(${target} PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "STATIC_LIBRARY" AND NOT type STREQUAL "OBJECT_LIBRARY")
    set_target_properties(${target} PROPERTIES CUDA_RESOLVE_DEVICE_SYMBOLS ON)
    foreach(word IN LISTS use_OPTIONS)
      target_link_options(${target} PRIVATE "$<DEVICE_LINK:SHELL:-Xnvlink ${word}>")
    endforeach()
  endif()
endfunction()
