# Which CPU variants of llama.cpp are compiled into one wheel, and that llama-server is.
#
# ggml can be built once per instruction set, as modules of which the process loads the best one for its CPU. Its own
# list begins before AVX2 and has an AMX variant that some compilers get wrong. This file is run by ggml's `project()`
# (CMAKE_PROJECT_ggml_INCLUDE) and, when llama.cpp's own files have been read, leaves out what is not wanted: such a
# module is compiled from nothing and is not installed.

set(QUIZGLASS_HERE ${CMAKE_CURRENT_LIST_DIR})

# From AVX2 on, one for each step that changes how ggml computes: AVX-VNNI, AVX-512, its VNNI, its VBMI, its BF16.
set(QUIZGLASS_X86_VARIANTS haswell alderlake skylakex cascadelake icelake zen4)

# Whether this compiler gets AMX right. Only a machine with AMX can tell; on any other the variant is left out.
function(quizglass_probe_amx result)
    try_run(ran compiled ${CMAKE_BINARY_DIR}/quizglass-amx ${QUIZGLASS_HERE}/amx_probe.c
        COMPILE_DEFINITIONS -O2 -mamx-tile -mamx-int8)
    if (compiled AND ran STREQUAL "0")
        set(${result} TRUE PARENT_SCOPE)
    else()
        message(STATUS "quizglass: no AMX variant (the compiler's code for it failed or could not be tried: ${ran})")
        set(${result} FALSE PARENT_SCOPE)
    endif()
endfunction()

# Whether a variant is compiled: those of the list, and of other architectures whatever the compiler knows.
function(quizglass_wanted variant result)
    set(wanted TRUE)
    if (GGML_SYSTEM_ARCH STREQUAL "x86")
        if (variant STREQUAL "sapphirerapids")
            quizglass_probe_amx(wanted)
        elseif (NOT variant IN_LIST QUIZGLASS_X86_VARIANTS)
            set(wanted FALSE)
        endif()
    elseif (variant MATCHES "^armv9\\.2")
        include(CheckCCompilerFlag)
        check_c_compiler_flag(-march=armv9.2-a+sme QUIZGLASS_KNOWS_SME)
        set(wanted ${QUIZGLASS_KNOWS_SME})
    endif()
    set(${result} ${wanted} PARENT_SCOPE)
endfunction()

function(quizglass_leave_out_variants)
    file(WRITE ${CMAKE_BINARY_DIR}/quizglass-nothing.c "typedef int nothing;\n")
    get_directory_property(GGML_SYSTEM_ARCH DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/src DEFINITION GGML_SYSTEM_ARCH)
    get_property(modules DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/src PROPERTY BUILDSYSTEM_TARGETS)
    list(FILTER modules INCLUDE REGEX "^ggml-cpu-[^-]+$")
    set(kept)
    foreach (module IN LISTS modules)
        string(REPLACE "ggml-cpu-" "" variant ${module})
        quizglass_wanted(${variant} wanted)
        if (wanted)
            list(APPEND kept ${variant})
        else()
            set_target_properties(${module} PROPERTIES SOURCES ${CMAKE_BINARY_DIR}/quizglass-nothing.c LINK_LIBRARIES "")
            install(CODE "file(GLOB left \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/lib${module}.*\")
                if (left)
                    file(REMOVE \${left})
                endif()")
        endif()
    endforeach()
    message(STATUS "quizglass: CPU variants ${kept}")
endfunction()

# llama-server, with what it is linked to, beside the libraries; of llama.cpp's other programs none is compiled.
function(quizglass_keep_server_alone)
    set(kept mtmd llama-common llama-server-impl llama-server)
    get_property(folders DIRECTORY ${CMAKE_SOURCE_DIR}/vendor/llama.cpp/tools PROPERTY SUBDIRECTORIES)
    foreach (folder IN LISTS folders)
        get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
        list(REMOVE_ITEM targets ${kept} server-context llama-ui llama-ui-assets)
        if (targets)
            set_target_properties(${targets} PROPERTIES EXCLUDE_FROM_ALL TRUE)
        endif()
    endforeach()
    set_target_properties(${kept} PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH TRUE)
    install(TARGETS ${kept}
        LIBRARY DESTINATION ${SKBUILD_PLATLIB_DIR}/llama_cpp/lib
        RUNTIME DESTINATION ${SKBUILD_PLATLIB_DIR}/llama_cpp/lib)
endfunction()

if (GGML_CPU_ALL_VARIANTS)
    cmake_language(DEFER CALL quizglass_leave_out_variants)
endif()
if (LLAMA_BUILD_SERVER)
    cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL quizglass_keep_server_alone)
endif()
