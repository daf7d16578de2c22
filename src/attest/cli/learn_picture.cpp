#include "attest/cli/learn_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attest {

namespace {

/// A loss by its logarithm: 0 for the greatest decade of the picture, 1 for the smallest.
constexpr double top_decade = 1, bottom_decade = -4;

double depth_of(double loss) {
  const double decade = std::log10(std::max(loss, 1e-300));
  return (top_decade - std::clamp(decade, bottom_decade, top_decade)) / (top_decade - bottom_decade);
}

constexpr std::size_t columns = 64, lines = 11;  ///< a line for each half decade

/// An SVG text.
std::string text_at(double x, double y, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y, text);
}

/// Weights as squares: the darker, the nearer to 1. Keys run to the right and queries downwards.
std::string squares(const Matrix<double>& weights, double left, double top, const std::string& title) {
  const double side = 200.0 / static_cast<double>(weights.shape(0));
  std::string svg = text_at(left, top - 10, title);
  for (std::size_t i = 0; i < weights.shape(0); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const int shade = static_cast<int>(std::lround(255 * (1 - std::clamp(weights(i, j), 0.0, 1.0))));
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"rgb({},{},255)\" "
          "stroke=\"#ccc\"><title>query {}, key {}: {:.4f}</title></rect>\n",
          left + side * static_cast<double>(j), top + side * static_cast<double>(i), side, side, shade, shade, i, j,
          weights(i, j));
    }
  }
  return svg;
}

/// The curve in a frame of 400 by 200.
std::string curve(const std::vector<double>& losses, double left, double top) {
  std::string svg = text_at(left, top - 10, "loss, by steps");
  svg +=
      fmt::format("<rect x=\"{}\" y=\"{}\" width=\"400\" height=\"200\" fill=\"none\" stroke=\"#888\"/>\n", left, top);
  for (int decade = 1; decade >= -4; --decade) {
    const double y = top + 200 * depth_of(std::pow(10.0, decade));
    svg += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n", left,
                       left + 400, y);
    svg += text_at(left - 44, y + 4, fmt::format("{:g}", std::pow(10.0, decade)));
  }
  svg += "<polyline fill=\"none\" stroke=\"#1f4e9c\" stroke-width=\"1.5\" points=\"";
  for (std::size_t t = 0; t < losses.size(); ++t) {
    const double across = losses.size() < 2 ? 0 : static_cast<double>(t) / static_cast<double>(losses.size() - 1);
    svg += fmt::format("{:.1f},{:.1f} ", left + 400 * across, top + 200 * depth_of(losses[t]));
  }
  return svg + "\"/>\n" + text_at(left + 330, top + 216, fmt::format("{:>4} steps", losses.size() - 1));
}

}  // namespace

std::string curve_of_characters(const std::vector<double>& losses, std::size_t steps) {
  std::vector<std::string> picture(lines, std::string(columns, ' '));
  for (std::size_t t = 0; t < losses.size(); ++t) {
    const auto line = static_cast<std::size_t>(std::lround(depth_of(losses[t]) * (lines - 1)));
    picture[line][t * (columns - 1) / std::max<std::size_t>(steps, 1)] = '*';
  }
  std::string text;
  for (std::size_t line = 0; line < lines; ++line) {
    const double decade = top_decade - static_cast<double>(line) / 2;
    const std::string label = line % 2 == 0 ? fmt::format("{:g}", std::pow(10.0, decade)) : "";
    text += fmt::format("{:>7} |{}\n", label, picture[line]);
  }
  return text + fmt::format("{:>7} +{:-<{}}\n{:>7}  0{:>{}} steps\n", "", "", columns, "", steps, columns - 7);
}

std::string learning_svg(const std::vector<double>& losses, const Matrix<double>& before, const Matrix<double>& after) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 980 270\" font-family=\"sans-serif\" "
         "font-size=\"12\">\n"
         "<rect width=\"980\" height=\"270\" fill=\"white\"/>\n" +
         curve(losses, 60, 40) + squares(before, 500, 40, "attention weights before") +
         squares(after, 740, 40, "attention weights after") + "</svg>\n";
}

}  // namespace attest
