"""Common English words, by whose place in this list a stub names them (format F-15.4).

Written by hand for this package, the commonest first; nothing that a user wrote ever goes into it. The list is a part
of the format: a word never moves. A better list gets another marker in `stub.py`, and this one stays for what is there.
"""

from __future__ import annotations

_WORDS_1 = """
the to and a i of you in it that is for was my on with so me have but be are this like it's i'm just not at
we as what about been do really had your from they up out can all how some time great if or one when good an
more there get that's don't would know he she them him her his their our us will has were did think things
thing make see going love got too also new i've by which who where why then than now here into over after
before because could should much many very any no yes even still back being way day days year years week
weeks month months last next first other another people person friend friends family work working worked
well feel feeling felt want wanted need needed help helped take taking took made look looking looked thanks
thank sounds sound hey hi hello glad nice keep always never lot lots little bit big small best better
something anything everything nothing someone anyone everyone sure maybe ever own only since while through
around again off down let's let lets can't didn't doesn't isn't wasn't won't couldn't wouldn't i'd i'll
you're you've you'll we're we've they're he's she's there's what's who's such each both few most same
different between during without within against under above below along across until though although however
instead rather quite enough almost already yet soon later today yesterday tomorrow tonight morning afternoon
evening night weekend recently sometimes often usually finally once twice hours hour minutes minute seconds
second moment moments ago early late long short old young high low right left real true full free easy hard
able happy sad excited exciting amazing awesome cool fun beautiful wonderful special important interesting
possible ready whole main certain clear difficult strong simple single common local public social human
personal life world home house place places room school class team game games job company business money
city country street state area part parts point points side end start started starting begin began kind
kinds type types ways number numbers name names word words story stories book books movie movies music song
songs art picture pictures photo photos video food water car dog dogs cat cats kids kid child children baby
man men woman women guy guys girl boy mom dad mother father parents brother sister son daughter wife husband
partner said say says saying tell told telling talk talking talked ask asked asking call called calling hear
heard come came coming go went gone goes give gave given giving find found finding try tried trying use used
using uses put show showed shown showing leave turn turned play played playing run running ran move moved
moving live lived living believe believed bring brought happen happened happening write wrote written
writing provide sit sitting stand standing lose lost pay paid meet met meeting include includes including
continue continued set setting settings learn learned learning change changed changes changing lead led
understand understanding watch watched watching follow followed following stop stopped create created
creating speak speaking read reading allow allows allowed add added adding spend spent grow grew growing
open opened opening walk walking walked win won offer offered remember remembered consider considered appear
appeared buy bought wait waiting serve send sent expect expected build built building stay stayed fall fell
cut reach reached kill remain suggest suggested raise pass passed sell sold require required requires report
reported decide decided pull push idea ideas plan plans planned planning question questions answer answers
problem problems issue issues reason reasons result results example examples case cases fact facts group
groups system systems program programs information service services support power line lines level levels
process project projects member members community event events experience experiences opportunity chance
care health mind heart body hand hands head face eyes eye memory memories dream dreams goal goals future
past present history law government control order value values price cost costs rate million percent data
list lists page pages text table tables trip travel travelled visited visit visiting vacation beach park
mountain mountains hike hiking camping nature outdoors garden flowers trees tree sun rain snow weather
summer winter spring sunset ocean river lake forest road drive driving train plane flight hotel restaurant
coffee tea cooking cook cooked recipe dinner lunch breakfast cake pizza bread fruit meal taste tasty
delicious party birthday wedding holiday christmas celebrate celebrated gift gifts surprise shop store
market clothes shoes dress color colors blue red green white black painting paint painted dance dancing sing
singing guitar piano band concert festival sport sports basketball football soccer tennis yoga gym exercise
fitness training race coach player players tournament practice skills skill workshop classes course courses
student students teacher teaching teach university college degree research study studying studied science
technology computer computers phone online website internet app software code channel media hope hoping
hoped wish wishing miss missed enjoy enjoyed enjoying share shared sharing inspired inspiring inspiration
proud grateful thankful appreciate appreciated supportive supporting encourage encouraging encouraged
motivated motivation passion passionate creative creativity confident confidence strength courage brave
peace peaceful calm relax relaxing relaxed stress stressful tough challenge challenges challenging struggle
struggling journey progress growth success successful achieve achieved achievement accomplish positive
perspective balance healing therapy counseling mental emotional self identity accept acceptance accepting
equality rights pride lgbtq transgender adoption agency volunteer volunteering volunteered charity donate
donated nonprofit shelter rescue homeless awareness impact difference meaningful memorable incredible
unforgettable fantastic absolutely definitely totally completely truly actually especially probably
certainly exactly clearly simply nearly together alone apart forward ahead away outside inside upstairs
anywhere everywhere somewhere wow yeah yep yup nope okay ok oh haha lol sorry please congrats
congratulations welcome cheers bye goodbye perfect cute funny crazy weird strange scary lovely pretty fresh
warm hot cold dark light bright soft loud quiet quick quickly slow slowly safe safety busy tired sick
healthy hungry lucky worried nervous afraid scared surprised curious interested amazed thrilled pumped
stoked january february march april may june july august september october november december monday tuesday
wednesday thursday friday saturday sunday two three four five six seven eight nine ten hundred thousand half
couple several dozen user users agent agents model models server servers client clients file files folder
folders path paths function functions method methods object objects string strings test tests tested testing
error errors bug bugs fix fixed fixes fixing feature features version versions release released update
updated updates updating install installed runs deploy deployed deployment builds branch commit merge review
config configuration default option options command commands script scripts api key keys token tokens
request requests response responses query queries search database column index cache disk network port host
address url link links log logs message messages email emails account accounts password login session
sessions security access permission permissions policy policies rule rules task tasks jobs queue worker
workers thread threads stream input output format json python javascript typescript rust java docker linux
windows mac github git repository repo package packages library libraries module modules dependency
dependencies coding developer developers development production staging environment variable variables
parameter parameters argument arguments return returns returned calls interface check checks checked
checking validate validation implement implemented implementation handle handled handling supports supported
current previous latest specific multiple additional available based related sets step steps note notes item
items field fields record records detail details description title tag tags date dates size length count
total average maximum minimum limit limits performance speed fast faster usage metric metrics reports
dashboard customer customers product products design designs document documents documentation draft budget
schedule deadline deadlines meetings manager office contract interview resume application applications apply
applied position role roles salary career professional industry marketing sales brand campaign strategy
investment finance financial bank credit loan tax income expenses savings insurance legal lawyer court
agreement terms doctor hospital medical medicine treatment patient patients pain sleep diet weight blood
pressure symptoms appointment nurse disease condition risk prevent protein sugar vegetables chicken fish
meat rice pasta salad cheese chocolate cream butter milk eggs egg oil salt pepper garlic onion sauce soup
ensure ensuring provides providing provided considering effective effectively approach approaches focus
focused focusing manage managing management improve improved improving improvement increase increased
increasing reduce reduced reducing identify identified identifying develop developed developing maintain
maintaining prefer prefers preferred preference likes liked hates avoid avoiding choose chose chosen choice
choices recommend recommended recommendation recommendations advice tips suggestions discuss discussed
discussing discussion explain explained mention mentioned agree agreed compare comparison complete completed
completing finish finished organize organized organizing prepare prepared preparing prioritize track
tracking language english spanish french german chinese japanese american british european america canada
london paris york california san united states national international global north south east west figure
matter matters sense situation conversation conversations relationship relationships attention interest
interests hobby hobbies activity activities adventure adventures collection piece pieces craft crafts
pottery woodworking photography camera novel author poem poetry screenplay audience reader readers series
episode season character characters fantasy magic fiction pet pets puppy kitten animals animal bird birds
turtle horse wild wildlife climate energy earth planet space star stars sky moon view views scenery
landscape trail trails waterfall bike biking swim swimming surf surfing ski skiing climb climbing runner
marathon kitchen bedroom bathroom door window wall floor chair bed desk furniture apartment rent lease
neighbor neighbors neighborhood downtown bus station airport ticket tickets passport luggage
"""
LIST_1: tuple[str, ...] = tuple(_WORDS_1.split())
