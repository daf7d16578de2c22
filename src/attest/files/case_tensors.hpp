#pragma once
/// The tensors of a case by name: which there are, and what reading and writing them have in common.

#include <algorithm>
#include <string>
#include <vector>

#include "attest/conventions/layout.hpp"
#include "attest/definitions/problem.hpp"
#include "attest/files/array.hpp"

namespace attest {

/// What a tensor's element type has to be: a format of chapter 16, an integer, or BOOL (also U8 of 0 and 1).
enum class Kind { floating, integer, boolean };

/// The tensor, if it is there. Refuses another kind of element type: CAS.C10.
const Array* find(const Archive& archive, const std::string& name, Kind kind);

/// The tensor, which must be there: CAS.C8.
const Array& need(const Archive& archive, const std::string& name, Kind kind);

/// Refuses another shape, naming the axes that were expected: CAS.C9.
void require_shape(const std::string& name, const Tensor<double>& t, const Shape& expected, std::string_view axes);

/// Refuses another number of axes: CAS.C9.
void require_rank(const std::string& name, const Tensor<double>& t, std::size_t rank, std::string_view axes);

/// Refuses tensors that no case has, or none of this layout: CAS.C8.
void require_known_tensors(const Archive& archive, Layout layout);
bool is_output(const std::string& name);

/// The names of all answers, for a message.
std::string answer_names();

template <class T>
Shape shape_of(const T& tensor) {
  return Shape(tensor.shape().begin(), tensor.shape().end());
}

/// The same shape and values in another container.
template <class To, class From>
To converted(const From& from) {
  To to = To::from_shape(shape_of(from));
  std::ranges::transform(from, to.begin(), [](auto x) { return static_cast<typename To::value_type>(x); });
  return to;
}

/// An optional input of type T with its name in files.
template <class T>
struct InputField {
  std::string name;
  std::optional<T> Inputs::*member;
};

/// Integers for each batch entry: (B).
inline const std::vector<InputField<Vector<std::int64_t>>> batch_fields = {
    {"q_lengths", &Inputs::q_lengths},
    {"k_lengths", &Inputs::k_lengths},
    {"prefix_lengths", &Inputs::prefix_lengths},
    {"offsets", &Inputs::offsets},
};

/// The documents that tokens belong to: (B, Sq) and (B, Sk).
inline const InputField<Matrix<std::int64_t>> document_q_field = {"document_q", &Inputs::document_q};
inline const InputField<Matrix<std::int64_t>> document_k_field = {"document_k", &Inputs::document_k};

/// Factors for each batch entry and head: (1 or B, heads).
inline const InputField<Matrix<double>> alibi_field = {"alibi_slopes", &Inputs::alibi_slopes};
inline const std::vector<InputField<Matrix<double>>> descale_fields = {
    {"descale_q", &Inputs::descale_q},
    {"descale_k", &Inputs::descale_k},
    {"descale_v", &Inputs::descale_v},
};

}  // namespace attest
