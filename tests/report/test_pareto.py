"""The plot of alternatives: which are best, and what is written beside which."""

from sfumato.tasks.report.steward.comparison import plot_pareto


def test_the_front_is_of_those_to_which_none_is_better_in_both():
    points = [("1", 0.2, 0.9), ("2", 0.5, 0.9), ("3", 0.5, 0.4), ("4", 0.7, 0.4), ("5", 1.0, 0.1)]
    assert plot_pareto(points, "1").best == ("1", "3", "5")


def test_points_at_one_place_are_one_and_only_what_has_room_is_labelled():
    places = [
        ("1", 0.5, 0.5),
        ("2", 0.5, 0.5),
        ("3", 0.51, 0.51),
        ("4", 0.52, 0.5),
        ("5", 1.0, 1.0),
    ]
    plot = plot_pareto(places, "2")
    labels = {point.marks: point.label for point in plot.points}
    assert labels == {("1", "2"): "", ("3",): "3", ("4",): "", ("5",): "5"}
    assert [point.marks for point in plot.points if point.chosen] == [("1", "2")]
    assert plot.points[-1].chosen  # it is drawn over the others
