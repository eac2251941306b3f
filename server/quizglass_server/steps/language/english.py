"""English words that comparing statements needs to know: tables alone, words separated by spaces."""

FUNCTION = """
a an the this that these those it its it's itself he him his she her hers they them their theirs there here we us
our i me my you your ones some any each every other another such same own who whom whose which what when
where why how is are was were be been being am do does did done has have had having can could may might must shall
should will would of in on at by from to for with about into onto over under between through during as than and or
but if so then because while also too very just only quite rather even still yet much st nd rd th
up out off instead because near around within along across upon per via s 's yes
"""
"""Words that state nothing by themselves."""

FRAMING = """
picture pictures photo photograph image shows show shown showing see seen depicted depicts thing object called name
named known kind sort type animal animals things item answer according notes says say said appears seems likely
"""
"""Words that an answer is framed in, as in "the animal in the photo is"."""

NEGATIONS = """
cannot hardly neither never no nobody none nor not nothing nowhere without
"""
"""Words that turn what follows in a clause into its opposite; so do words that end in n't."""

ORDINALS = """
third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth
seventeenth eighteenth nineteenth twentieth
"""
"""3rd to 20th; "first" and "second" are words of more than one meaning."""

ROLES = "from to than before after until by under for"
"""Words that tell which part a word plays: "from red to blue" is not "from blue to red"."""

AUXILIARIES = "is are was were has have had does did do can could may might will would must should"

NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen
"""
"""0 to 19."""

TENS = "twenty thirty forty fifty sixty seventy eighty ninety"

BINDING = """
in on at during with through over into of as instead because between among against around near since within onto upon
along across inside throughout till unlike like despite except besides beyond toward towards outside beneath beside
"""
"""Words that bind what follows to what stands before."""

ADVERBS = """
afterwards already also always before currently early first formerly generally later mainly mostly now often once
originally sometimes soon then today underground usually
"""
"""Adverbs, which stand before or behind the verb alike; those in "ly" are recognised by their form."""

PRONOUNS = """
it=it he=it she=it they=it him=it them=it her=its its=its his=its their=its whose=its hers=it theirs=it itself=it
"""
"""Pronouns for the thing that a text is about, and whether each stands for it or for what it has."""

SHORT_UNITS = "m=metre g=gram s=second h=hour l=litre c=celsius f=fahrenheit min=minute t=tonne w=watt v=volt"
"""Letters that are units behind a number alone."""

PHRASES = """
kmh=kilometre per hour
kmh=kilometre an hour
kmh=kilometre h
kmh=km hour
mph=mile per hour
mph=mile an hour
celsius=degree celsius
celsius=degree c
celsius=° c
fahrenheit=degree fahrenheit
fahrenheit=degree f
fahrenheit=° f
km2=square kilometre
m2=square metre
m3=cubic metre
km3=cubic kilometre
percent=per cent
half=50 percent
quarter=25 percent
twice=two times
"""
"""Several words that say one thing."""

NO_PARTICIPLES = """
red bed seed feed need reed weed breed speed shed sled hundred sacred naked wicked rugged exceed proceed succeed indeed
"""
"""Words in "ed" that are no participles."""

NO_ADVERBS = """
only family fly butterfly dragonfly firefly housefly lily jelly belly ally rally tally bully gully italy july assembly
supply reply anomaly monopoly friendly lovely lonely ugly holy daily weekly monthly yearly elderly apply multiply
"""
"""Words in "ly" that are no adverbs."""

TIMES = "year day night morning evening week month season spring summer autumn winter hour minute century decade"
"""What "each" and "every" say when of, besides months."""

MONTHS = """
january february march april may june july august september october november december
"""

WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday weekend"

PARTICIPLES = """
made built born written known found held kept drawn flown taken given eaten grown shown seen worn woven thrown spun sung
brought bought caught taught thought told sold sent spent led lost left met paid read set put cut hung struck stolen
spoken broken chosen driven frozen hidden ridden shaken sworn torn beaten bitten blown done drunk forgotten laid shot
shut split spread stuck understood won wound bred fed felt fought heard hit hurt lit meant overtaken ground bent bound
"""
"""Irregular past participles."""

PASTS = """
made built wrote knew found held kept drew flew took gave ate grew showed saw wore wove threw spun sang brought bought
caught taught thought told sold sent spent led lost left met paid hung struck stole spoke broke chose drove froze hid
rode shook swore tore beat bit blew did drank forgot laid shot stuck understood won fed felt fought heard meant overtook
became began came fell went got lay ran rose sank sat slept stood swam said had
"""
"""Irregular past tenses."""

UNDROPPED = """
almost nearly partly partially half former formerly false fake mock imagined imaginary so-called alleged supposed less
least few little rarely seldom hardly barely second third possibly probably perhaps maybe apparently reportedly
allegedly presumably supposedly
"""
"""Words without which the next word says something else: "nearly extinct", "second largest", "less common"."""

_LENGTHS = "metre kilometre centimetre millimetre foot inch mile"
MEASURES = {
    "long": _LENGTHS,
    "tall": _LENGTHS,
    "wide": _LENGTHS,
    "deep": _LENGTHS,
    "old": "year month week day",
    "weigh": "kilogram gram tonne pound",
}
"""What a number and its unit are of, by the first word of their groups, with the units by theirs."""

OPPOSITES = """
open opens opened opening visit visits=closed closes close closing shut shuts
start starts started begin begins began=end ends ended finish finishes finished stop stops stopped
before=after
first=last
old older oldest former previous=new newer newest current
arrive arrives arrived arrival=leave leaves depart departs departed departure
born birth=died dies die death
allowed permitted=forbidden prohibited banned
adult adults=child children kid kids
weekday weekdays=weekend weekends
summer=winter
morning mornings=evening evenings night
left=right
top upper=bottom lower
front=back rear
inside indoors=outside outdoors
least minimum=most maximum
lowest=highest
smallest=largest biggest
shortest=longest tallest
youngest=oldest
cheapest=dearest
male=female
mother=father
brother=sister
son=daughter
boy boys=girl girls
full=empty
wet=dry
lock locked=unlock unlocked
like likes love loves=dislike dislikes hate hates
"""
"""Words for the opposite of each other, of one thing; not verbs for the sides of a deal, as "lent" and "borrowed"."""

BE = "is are was were be been being become becomes became"

SAME = """
cost costs price priced
weigh weighs weighed weight heavy
long length
tall high height higher
wide width
deep depth
old age aged
found founded founder founding establish established
build built builder
bear born birth birthplace
large big
small little
begin began begun start started
live lives lived living life inhabit inhabits habitat home
eat eats ate eaten feed feeds fed diet
write writes wrote written writer author
paint painted painter
invent invented inventor
discover discovered discoverer
design designed designer
stand stands stood lie lies lay located situated lays laid
grow grows grew grown
have has contain contains
win wins won winner
speak speaks spoke spoken
fly flies flew flown
die dies died death dead
sell sells sold
use uses used
keep keeps kept
hold holds held
find finds
run runs ran
child children
man men
woman women
foot feet
tooth teeth
mouse mice
wolf wolves
leaf leaves
loaf loaves
half halves
knife knives
calf calves
shelf shelves
goose geese
ox oxen
arise arose arisen
beat beaten
bite bitten bit
blow blew blown
break broke broken
bring brought
buy bought
catch caught
choose chose chosen
come comes came
cut cuts
draw drew drawn
drink drank drunk
drive drove driven
fall fell fallen
fight fought
forget forgot forgotten
freeze froze frozen
get gets got gotten
give gives gave given
go goes went gone
ground grind
hang hung
hear heard
hide hid hidden
know knew known
lead led
learn learnt learned
leave left
lose lost
make makes made making maker manufacture manufactured manufacturer produce produced producer
mean meant
meet met
overtake overtook overtaken
overcome overcame
pay paid
ride rode ridden
ring rang rung
rise rose risen
see saw seen
send sent
shake shook shaken
shine shone
shoot shot
sing sang sung
sink sank sunk
sit sat
sleep slept
spend spent
spin spun
spread spreads
steal stole stolen
stick stuck
strike struck
swim swam swum
take took taken
teach taught
tear torn tore
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
weave wove woven
withdraw withdrew withdrawn
kilometre kilometres kilometer kilometers km
metre metres meter meters
centimetre centimetres centimeter centimeters cm
millimetre millimetres millimeter millimeters mm
kilogram kilograms kilogramme kilogrammes kg kilo kilos
gram grams gramme grammes
tonne tonnes ton tons
litre litres liter liters
percent %
euro euros €
dollar dollars $
pound pounds £
yen ¥
km2 km²
m2 m²
m3 m³
kmh kph
hour hours
minute minutes
mile miles
almost nearly
roughly approximately
often frequently
usually normally generally
whole entire
main chief principal
quick fast rapid
huge enormous giant
cactus cacti
fungus fungi
nucleus nuclei
larva larvae
alga algae
vertebra vertebrae
antenna antennae
formula formulae
bacterium bacteria
crisis crises
axis axes
index indices
phenomenon phenomena
criterion criteria
person people
thief thieves
scarf scarves
hoof hooves
louse lice
"""
"""Words of one meaning, a group a line: other words for the same, and forms that no stem joins."""
