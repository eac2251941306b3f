"""English words that comparing statements needs to know: tables alone, words separated by spaces."""

FUNCTION = """
a an the this that these those it its it's itself he him his she her hers they them their theirs there here we us
our i me my you your ones some any each every both other another such same own who whom whose which what when
where why how is are was were be been being am do does did done has have had having can could may might must shall
should will would of in on at by from to for with about into onto over under between through during as than and or
but if so then because while also too very just only quite rather even still yet much
up out off near around within along across upon per via s 's yes
"""
"""Words that state nothing by themselves."""

FRAMING = """
picture photo photograph image shows show shown showing see seen depicted depicts thing object called name named
known kind sort type animal item answer according notes says say said appears seems likely
"""
"""Words that an answer is framed in, as in "the animal in the photo is"."""

NEGATIONS = """
cannot hardly neither never no nobody none nor not nothing nowhere without
"""
"""Words that turn what follows in a clause into its opposite; so do words that end in n't."""

NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty
"""
"""0 to 20."""

SAME = """
cost costs price priced
weigh weighs weighed weight heavy
long length
tall high height
wide width
deep depth
old age aged
found founded founder founding establish established
make makes made maker manufacture manufactured manufacturer produce produced producer
build built builder
bear born birth birthplace
large big
small little
begin began begun start started
live lives lived living inhabit inhabits habitat home
eat eats ate eaten feed feeds fed diet
write writes wrote written writer author
paint painted painter
invent invented inventor
discover discovered discoverer
design designed designer
stand stands stood lie lies lay located situated
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
"""
"""Words of one meaning, a group a line: other words for the same, and forms that no stem joins."""
