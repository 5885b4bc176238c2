#pragma once

#include <string>

#include "troupe/actors/readers/array_format.h"

namespace troupe {

/// Opens an array that NumPy has saved (formats 1.0 to 3.0,
/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): a file of
/// numpy.save (".npy", also ".npy.gz"), or the member of that name of a file of numpy.savez
/// or numpy.savez_compressed (".npz").
///
/// Throws the errors of InputFile, expect_readable_again, find_zip_member and set_extents;
/// and, naming the file,
///
/// - data_loss for anything that is not such an array;
/// - invalid_argument for what the format can hold and a training cannot use, with
///   what to do about it: Fortran order, a dtype that Troupe does not have, objects,
///   records with fields; and for an .npz without a member.
OpenArray open_npy(const std::string& path, const std::string& member = {});

ArrayFormat npy_format(const std::string& member = {});

}  // namespace troupe
