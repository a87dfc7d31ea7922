"""Common English words whose forms no stemmer brings together: form to base form.

Left out are forms that are other words more often than not ("rose", "lay", "bit", "wound", "ground", "lives").
"""

from __future__ import annotations

_ENGLISH = """
arise arose arisen; awake awoke awoken; become became; begin began begun; bite bitten; blow blew blown; break broke
broken; bring brought; build built; buy bought; catch caught; choose chose chosen; come came; creep crept; deal dealt;
dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed
fed; feel felt; fight fought; find found; flee fled; fly flew flown; forbid forbade forbidden; forget forgot
forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone; grow grew
grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lead led; learn
learnt; leave left; lend lent; light lit; lose lost; make made; mean meant; meet met; overcome overcame; pay paid;
prove proven; ride rode ridden; ring rang rung; rise risen; run ran; say said; see saw seen; seek sought; sell sold;
send sent; shake shook shaken; shine shone; shoot shot; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat;
sleep slept; slide slid; speak spoke spoken; speed sped; spend spent; spin spun; stand stood; steal stole stolen;
stick stuck; strike struck; swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach
taught; tear tore torn; tell told; think thought; throw threw thrown; undergo underwent undergone; understand
understood; undertake undertook undertaken; wake woke woken; wear wore worn; weave wove woven; weep wept; win won;
withdraw withdrew withdrawn; write wrote written; calf calves; child children; foot feet; goose geese; half halves;
knife knives; loaf loaves; man men; mouse mice; person people; shelf shelves; thief thieves; tooth teeth; wife wives;
wolf wolves; woman women
"""
_TABLES = {"english": _ENGLISH}


def irregular_forms(language: str) -> dict[str, str]:
    """Form to base form in a language by its Snowball name; empty where there is no table."""
    lines = [line.split() for line in _TABLES.get(language, "").split(";")]
    return {form: base for base, *forms in filter(None, lines) for form in forms}
