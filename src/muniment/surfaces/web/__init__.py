"""The memory browser at `/` of `muniment serve` (design section 11, "Web page").

`logins.py` decides who comes in; `door.py` holds the routes and stands before them; `visit.py` is one request with its
agent and its bank, through which every command is asked; each screen is a module in `pages`; `templates` and `static`
hold what is shown. All that is drawn or counted is pure: `charts.py`, `words.py`, `places.py`.
"""
