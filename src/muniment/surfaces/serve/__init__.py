"""`muniment serve`: one process, or several, that hold the doors of a peer open (design section 11).

`doors.py` says what a door is and lists them; `house.py` is what a door is given; `gate.py` stands before all of them;
`run.py` listens.
"""
