"""Ways to an answer that know nothing of placement problems: HiGHS, network engines, and profiles to limit them."""
