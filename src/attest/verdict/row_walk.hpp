#pragma once
/// One row of attention at one precision, told step by step. Each step is a heading, a line for each equation with its
/// id, and a table with the numbers of every key or channel.

#include <map>
#include <string>
#include <vector>

#include "attest/verdict/explain_row.hpp"

namespace attest {

class RowWalk {
 public:
  /// Evaluates the row in the precision at hand.
  RowWalk(const ExplainedRow& row, const std::map<std::string, JudgedRow>& judged);

  void tell_logits();   ///< ATT.D12, ATT.D2, ATT.D3, ATT.D9, ATT.D4
  void tell_softmax();  ///< SMX.D1, SMX.D3, SMX.D5, ATT.D5, SMX.D4, SMX.D9
  void tell_output();   ///< ATT.D6, ATT.D7

  const std::string& text() const { return page_.text(); }
  bool certified() const { return certified_; }  ///< whether each number has the digits that were wanted

 private:
  const Head<Enclosure>& head() const { return operands_.head; }
  const JudgedRow* judged(const std::string& output) const;
  bool is_empty() const { return keys_.empty() && !head().sink; }
  bool is_lost() const;             ///< a rule makes NaN of the whole row
  std::size_t heaviest() const;     ///< the place, among the visible keys, of the greatest weight
  Vector<Enclosure> terms() const;  ///< the logits that enter the sums: the finite ones of visible keys; last the sink

  std::string say(const Enclosure& x, const JudgedRow* beside = nullptr);
  std::string say(const Value& x, const JudgedRow* beside = nullptr);

  /// Adds a table of n rows, cut in the middle if it is long; `cells(k)` makes row k.
  template <class Cells>
  void add_table(PageTable table, std::size_t n, std::size_t kept, Cells&& cells) {
    std::size_t next = 0;
    for (const std::size_t k : shown_rows(n, kept)) {
      if (k > next) table.leave_out(k - next);
      table.rows.push_back(cells(k));
      next = k + 1;
    }
    page_.table(table);
  }

  // Logits.
  bool bias_at(BiasPosition place) const { return head().bias && head().bias_position == place; }
  bool caps_before_bias() const { return head().softcap && bias_at(BiasPosition::after_softcap); }
  std::string logit_formula() const;
  std::vector<std::size_t> keys_whose(const std::vector<Measured>& stage, bool (*holds)(double)) const;
  void tell_special_logits();
  std::string product(std::size_t j);
  void logit_table();

  // Softmax.
  void tell_sums(const Exponentials<Enclosure>& e);
  void weight_table(const Exponentials<Enclosure>& e);
  std::vector<std::string> sink_cells(const Exponentials<Enclosure>& e);
  void tell_leaks();
  void tell_lse();

  // Output.
  std::string reason(std::size_t channel) const;
  void tell_special_channels();

  Call call_;
  std::string bias_;
  const std::map<std::string, JudgedRow>* judged_;
  EnclosedHead operands_;
  std::vector<std::size_t> keys_;
  std::vector<Measured> scaled_, capped_, logits_, weights_, kept_weights_;  ///< by key, hidden ones included
  RowValues values_;                                                         ///< out and lse
  Page page_;
  bool certified_ = true;
};

}  // namespace attest
