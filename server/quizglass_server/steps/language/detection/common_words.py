"""Words that questions are made of, in English and in languages of the same script: tables alone.

Particles of names (de, la, von) are in no table: English questions have names of all countries in them.
"""

ENGLISH = """
the what what's whats who who's whos whom whose which where where's wheres when when's why how how's hows this that
that's thats these those it it's its i'm im i've i'd you you're your yours she he's she's they they're them their
there there's here here's we're us our ours his him and or but if not than then because while until isn't aren't
wasn't weren't don't dont doesn't doesnt didn't didnt can't cant couldn't won't wouldn't shouldn't haven't hasn't does
did could should would will might must have has were been being from with without about after before into onto through
between against during off out up down near any anything anyone some something someone every everything each many much
more most less few enough often always never only just also again still ever yet too very really please pls plz thanks
thx tell show find need needs want know think say says said mean means get gets got getting go goes make makes made
making put use used using take takes keep work works called look looks like buy bought fix close read wash clean eat
drink cook safe good old new left right big small hot cold best first last next yes ok okay hello wot wich wher wats
gonna wanna gimme lemme dunno cuppa price number recipe battery year day weeks month months hour hours minutes size
weight colour color food dog dogs cat cats kids child book bike house kitchen garden key light
"""

SHARED = """
a ache actual air alarm alert all am animal antique anyhow app april are area arm as at ate atm august avocado baby
bacon bad baguette banana bandage bank barbecue bare bark base basket bat be beak bed bet bin bitten blade blind boot
bracelet brand brave brief budget bus by cabinet cable café cage camera camp can canvas cap capital cappuccino car
caravan care carton caution cave centre cereal certain chance change chat chef cheque chili chip chocolate chose cinema
clever client clip club cm coach cod code collar combine come comment compare complete complex computer con concert
confuse cons contact contents continue contract cool correct court cousin cricket crime croissant cure cycle damp
danger date deadline deal december dessert detail diet dig dim direct direction dispose distance district divide
divorce do dollar door dose double dozen drank due dug dusty dvd eagle editor effect effort egg email envelope error
escape espresso estate even exact excellent expert explode extension extra face faint falafel false fame familiar fan
faq far fare fast fasten fat fed fee file film filter final finance fine fire fit flap flash flat fog folk fond foot
football for fork fragile fruit funeral fur gain gallon gap garage gas gate gift ginger give glad gold gps grade grain
gram graph grate grill grip guide gum had half hall ham hamster hand hard hardware hat hay he heel held hell hem hen
her hi hinge hint hip hire hobby hospital hostel hotel humid humour hut i idea illegal image important impossible in
include infect injure ink input insect instructions internet interview invite is item jam jar jeans joint junk kebab
keyboard kg kilo kilogram kind kiosk kit kitten km knelt label lady lamp lap laptop laser latte lecture leek leg lens
lent let lever licence lid lime link lip list lit litre local log long lounge loyal lunch machine mad magazine mail
main male man mango manual mat match mate material max maximum may mayor me melon men menu merge message met metal mg
mild milligram min mine minus minute mix mixture ml mm mobile model moment mosquito motion motor moustache muesli mug
muscle museum my name national nature nest net no nor normal note november nowadays nut nylon object october of olive
oma on online opa open opinion option orange oregano original outfit oval over pace paella page pain pale pan panda
pants papaya paprika par pardon parent park part partner pass pasta paste patient pause pc pea pen pension per perfect
pesto pet photo piano pie pigeon pile pin pint pipe pizza place plan plastic platform plural plus pm point poison
police pollen pond pony popular porridge port portion position possible post pot pour prescription prince prison pro
produce product profit programme project pros prove prune public pudding pupil puppy puzzle pyjamas queue quiz race
radiator radio rail raisin rake ramen rang range rare rat rate ration real recent recharge record recycle reed refuse
regular relative rent reserve rest restaurant retire ring risotto rock rode rose rot rotten route routine royal rude
rug rural rust rusty sail sale salsa sandwich sang sank sauce sauna scale scalp scan scene schnitzel school science
scoop score sculpture seal secret section see seen sensor sent sentence september serve service shampoo shock shuttle
signal signature silence similar simple sir site ski skin skip sky slap slim slip slot snack snap so socket sofa soil
solar son sort source souvenir spade spanner spat spelt spin spine sport sprang spray spring stable stalk stand
standard stank staple star stare state station statue status steak stem sterile stock storm stress structure strudel
student studio style subtitle suit surface surprise sushi swing table tablet tale tank tapas tape tart taxi tea team
temple ten tenant tennis tent term terminal terrible test thermometer thermostat ticket tie till time tip to toast toe
tofu toilet ton tool total tour train trainers tram transport trap tremble triangle trim truck tube tunnel tv twin type
u under ur urgent us usage usb usual vacant vaccine valve van vase vat vegan verse version vet via village virus visa
visible volume vomit vote voyage wage war was water we web website weed week weekend wet wild winter wolf won wonder
word worm yoghurt zebra zero zone zoo
"""
"""English words that other languages have as well, and words that all of them have: a menu, a taxi."""

GERMAN_TOO = """
all am arm bad bin fast hand hat in man name ring rot so test war was
"""
"""Those of them that begin or join German questions, whose nouns all have capitals."""

GERMAN_VERBS = "hat war"
"""English nouns that begin German questions: "Hat Oma Fieber?"."""

VOCABULARY = """
able above abroad accept account accurate across act add address adult advice afford afraid afternoon afterwards age
ago agree ahead alive allergens allergic allow allowed alone along aloud already alright although altogether amount
angry ankle annoy annual another anyway anywhere apart apologise apple appointment apron around arrange arrive aside
ask asleep attach attic aunt author autumn avoid awake away awful back backup bags bake bakery ball balls basement
basil bath bathroom batteries beach bead beam bean bear beat beautiful became become bedroom bee beef beetle beforehand
began begin begun behind believe bell belly belong below belt bench bend beneath berry beside besides beyond bicycle
biggest bikes bill bird birth birthday bit bite black blanket blast bleach bleed blend blew blink block blood bloom
blossom blow blown blue blunt board boat boil bolt bone bones bookshelf border bore born borrow boss both bottle
bottles bottom bounce bowl box boy brain brake branches brass bread break breakfast breath breathe breed breeze brew
brick bride bridge bright brilliant bring broken brother brought brown browse bruise brush bubble bucket buckle bug
build built bump bunch bundle burn burnt bury bush business busy butcher butterfly button buttons cabbage cabin cafe
cake calendar calf call calm came cancel candle candy careful careless carpet carrot carrots carry cart cartridge
carved case cash cast castle catch cattle caught ceiling cellar chain chair chalk changed channel chapter character
charge charged charity chase cheap cheapest check checked cheese chemist cherry chess chest chew chicken chicks chief
childhood childish chill chimney chin choice choose chop chosen church circle city claim clamp class classic claw clay
cleaned cleaner cleaning clear click cliff climb clinic clock clogged closed closest closet cloth cloud cloudy clove
clue clumsy coast coat coats cockroach coconut coffee coin coldest colleague collected college colours comb comes
comfort comfortable coming common company compass complain confirm congested connect contain control convert cooked
cookie copper copy cord core cork corn cost cotton couch cough count country couple course cover covered cow crab crack
cradle craft crank crash crawl cream credit creek crew crisp crop cross crow crown crumb crush crust cry cucumber cup
cupboard curious curl currency current curry curtain cushion customer cut cute cutlery cuts cutting dad dairy damage
damaged dance dangerous dark daughter dawn days dead deaf dealt dear death debt decade decide deck deep deer defrost
degree degrees delay delete delicious deliver delivery dentist deny depart department departure depend deposit depth
describe desert deserve design desk destroy detergent develop device dial diamond differ difference different difficult
dine dinner dip dirt dirty disabled disease dish dishwasher dismantle disposal ditch dive doctor donated done doubt
dough downstairs drag drain draw drawer drawn dream dreamt dress drew drill drip drive driven driving drop drove drown
drug drum drunk dry duck dull dumb dump dust duty dye eager ear earn earth ease east easy eaten edge edible education
eggs elbow elder electric electricity elevator embassy emergency emptied empties empty enable end ends enemy energy
engine english enjoy ensure enter entrance entry equal equipment eraser evening event everybody everywhere evil exactly
exam example except exchange excited exercise exhaust exhibition exist exit expect expensive experience expire expiry
explain expose express extend extract eye eyebrow eyes fabric fact factory fade fail fair fairy faith fake fall family
famous fancy farm fastest father fault faulty favour favourite fear feather feature february feed feel feet fell fellow
felt female fence ferment fertilise fever field fierce fifty fight figure fill finger finish fireplace firewood firm
fish fisherman fits five fixed flag flame flask flavour flaw flea fled fleece flesh flew flight flip float flock flood
floor flour flow flower flown flu fluffy flush fly foam foggy foil fold follow foolish forbidden foreign forever
forgave forget forgiven forgot forgotten form forth fortnight forward found fountain four fox frame free freeze freight
fresh friday fridge friend frog front frost froze frozen fry fuel full fun funny furniture further fuse fuss future
gallery gamble game garbage garlic garment gather gauge gave gear gender gentle genuine germ ghost giant girl glance
glass glove gloves glue goal goat going gone goodbye goose gossip gown grab grammar grandad granddad grandfather
grandma grandmother grandpa grandson grant grape grasp grass grateful gravel gravy grease greasy great green greet grew
grey grind grocery ground group grow grown guarantee guard guess guest guilty guitar gun gust guy gym habit hail hair
haircut handed handle hands handy hang happen happened happens happy harbour harm harmful harvest hate hazard head
headache headlight headphones heal health healthiest healthy heap heard hearing heart heat heating heaven heaviest
heavy hedge height helmet help helpful herb herself hibernate hid hidden hide high highest highway hike hill himself
hit hive hoarse hold holds hole holes holiday holidays hollow holy home homemade homework honest honey hood hook hope
horn horse hose host household however hug huge human hundred hung hungry hunt hurry hurt husband ice id identify idle
ill illness imagine immediately improve inch included income increase indeed indoor inform information ingredient
inhale injury inn insert inside insist inspect inspection install installed instead insulate insurance insured intend
interested interesting internal invoice iron island itself jacket jail january jars jaw jealous jellyfish jeweller
jewellery job join joke journey judge jug juice july jump junction keen kept kettle keyhole keys kick kidney kill
kilometre kilometres king kiss kiwi knee kneel knew knife knit knives knob knock knot known lace lack ladder laid lake
lamb landlady landlord lane language large largest late laugh laundry law lawn lawyer lay lazy lb lead leaf leaflet
league leak lean leap learn learnt least leather leave led lemon lend length lesson let's lettuce liable library
license lie life lifetime lift lightning lights limit limp liquid listed listen little liver living lizard load loads
loaf loan lock locked lodge lonely longer longest loose lorry loss lost lot loud love lower lowest luck lucky luggage
lump lung luxury lying maid mailbox maintain majority mall manage map maple march mark market marriage marry mask
mattress maybe meal meant measure measurement meat medicine meet melt member memory mention mercy mess messy method
mice microwave middle midnight mile milk minor mirror misplaced miss missing mistake modern modest moist moisture
monday money monkey mood moon morning moss moth mother motorbike mould mount mountain mouse mouth move mud multiply mum
mummy mushroom music mustard myself nail naked napkin nappy narrow nasty native naughty navy nearby nearest neat neck
necklace needle needles neighbour neither nephew nerve nettle newest newspaper nice nickname niece night nightmare
nobody noise noisy none nonsense noodle noon north nose notebook nothing notice notify novel nowhere nurse nuts oak
oath oats obey obvious occupied occur ocean odd office official oil oldest once onion opened opening operate opposite
orchard order ordinary organ origin originally other ought ourselves outdoor outlet output outside oven overnight
oversleep owe owl own owns ox oxygen oz pack package packed pads paid painful paint painted painting pair pairing
pallets palm paper parcel parrot parts party passenger passport password patch path pattern pavement paw pay payment
pays peace peach peak peanut pedestrian pee peel pegs pencil people pepper perhaps period permit person petrol pharmacy
phone photograph pick picked pickle picnic picture pictures piece pig pill pillow pilot pinch pine pink pipes pistol
pit pitch pity plain plane planet planks plants plaster plasters plate play playing plays pleasant plenty pliers plot
plough plug plumber plums pocket poem poet poisonous pole policy polish polite pool poor poppy pork postage postcard
postman postpone potato pottery pound powder power practice praise pram prawn pray prefer pregnant prepare present
preserve press pressed pressure pretty prevent previous prey priest primary print private prize probably problem
promise pronounce proof proper properly property protect proud provide puddle pull pulse pump pumpkin punch puncture
purple purpose purse push quality quantity quarter queen quick quickly quiet quilt quit quite rabbit rack radish rag
railway rain raincoat raise ran rash raspberry rather raw razor reach reading ready realise rear reason receipt receive
recognise recognize recommend redeem reduce refill refit refrigerator refund rehair reheat reject relax release
reliable relight rely remain remember remind remote remove renewed repaint repair repaired repairs replace reply report
repot request require rescue reseal reservation reset resole resoled responsible restored restring result retune return
reverse reward rewind rewire ribbon rice rich rid ridden ride ridge rinse ripe rise risen risk risky river road roast
rob role roll romantic roof room root rope rotate rough round row rub rubbish ruin rule run rung running rush sack sad
saddle safest safety sailor salad salary salmon salt salty same sample sand sandal satisfied saturday saucepan sausage
save saw scar scarf scary scent schedule scheme scholar scissors scratch scream screen screw screwdriver screws scrub
sea seafood search seaside season seat second secure security seed seldom self sell send sensitive separate serial
series serious serviced setting settle setup seven several severe sew shade shadow shake shaken shall shallow shame
shape share shark sharp sharpen sharpened shave sheep sheet shelf shell shelter shelves shield shift shin shine ship
shirt shoes shone shook shoot shop shore short shortest shot shout shovel showing shows shrank shrimp shrink shrub shut
shy sibling sick side sieve sight sign silent silk silly silver since sing single sink sip sister sit skates skeleton
skill skirt skull slam sleep sleeve slept slice slid slide slight slippery sliver slope slow slowest slug smallest
smart smash smear smell smile smoke smooth smoothie snail snake sneeze snore snow soak soap sock soft sold soldier
solid solve somebody song soon sore sorry soul sound soup sour south space spare spark sparrow speak special specific
speed spell spend spent spice spicy spider spill spilt spinach spirit spit split spoil spoke spoken sponge spoon spot
spout sprain spread sprinkle spun square squash squeak squeeze squirrel staff stage stain stairs stale stall stamp
starch start starve stay steady steal steam steel steep step stern stew stick sticks sticky stiff sting stir stitch
stole stolen stomach stone stood stool stops store stored storey story stove straight strange strap straw strawberry
stream street strength stretch strike strings strip stripe stroke stroller strong strongest struck stuck study stuff
stung stupid subject submit suburb subway succeed success such sudden sugar suitable suitcase sum summer sun sunburn
sunday sunflower sung sunglasses sunk sunlight sunny sunrise sunscreen sunset supermarket supper supply support
supposed sure surgery surname survive swallow swam swan swap sweat sweep sweet swell swept swim switch swollen sword
sworn swum syrup system tablecloth tail tailor taken talk tall tame tap target task taste taught tax teach teacher
teaches teapot tease teeth telephone television temperature temporary terrace text thank thaw theatre theft thick thief
thigh thin thing things third thirsty thirteen thirty thorn thorough though thought thousand thread threat three threw
throat throne throughout throw thrown thumb thunder thursday tidy tiger tight tile timber times timetable tin tiny
tired tissue title toad tobacco today toddler together told tomato tone tongue tonight took toolbox toothache
toothbrush toothpaste torch tore torn tortoise touch tough tourist toward towel tower town toxic toy track trade
traffic trail transfer translate travel tray treat treatment tree trees trial trick tricky trip trod trousers true
trunk trust truth try tuesday tuna tuning turkey turns turtle twelve twenty twice twig twist typical tyre tyres ugly
umbrella unable uncle underground underneath understand understood undone unit unknown unless unlock unplug unsafe
unscrew untie unusual upper upright upset upside upstairs useful useless vacation vacuum valid valley valuable value
vanilla variety veal vegetable vegetarian vehicle vein velvet vessel view vinegar violin visit visitors vitamin voice
waist wait waitress wake walk wall wallet walnut wander wardrobe warm warmest warn warranty washed wasp waste watch
waterproof wattage watts wave wax way weak wealth weapon wear weather wedding wednesday weekday weigh weights weird
welcome well went wept west whale wheat wheelchair wheels whether whip whisk whiskers whisper whistle white whoever
whole wicked wide widow width wife wifi win window windscreen wine wing wipe wire wireless wise wish wives woke woman
women wonderful wood wooden wool wore working world worn worry worse worst worth wound woven wrap wreck wrench wrist
write written wrong wrote yard yarn yawn yeah years yeast yell yellow yesterday yogurt yolk young youngest youth zip
"""
"""English words of everyday things, and seldom in other languages; their plurals and the like count as they do."""

OTHERS = """
das dass ist ein eine einen einem wie wo wer wem wen wann warum welche welcher welches welchen wieviel wozu woraus
woher muss kann darf soll ich mir mich nicht noch und oder für fuer mit auf hat habe gibt sind mein meine meinen unser
unsere kein keine heißt heisst diese dieser dieses diesem dafür davon darin rein da es zu zum zur bei beim aus nach
wird

les une des ce cet cette ces ça est qui que quoi quel quelle quels quelles où comment combien pourquoi quand je il
elle nous vous mon ma mes ses avec dans pour pas faut peut et ou au aux sont était y sur ici moi encore

los las una qué cómo cuál cuánto cuánta cuántos cuántas cuándo dónde quién quiénes es esto este esta ese esa eso estos
estas esos con para por mi su hay está están tiene puedo puede lo como cuanto donde cuando quien al más

il gli che cosa chi come quanto quanti quanta quante quando dove perché è questo questa questi queste quello quella
quel si mio mia sono posso può devo quale quali ogni nel nella della dello dei delle degli ancora qui ho hanno un uno

os um uma qual quanto quantos quantas onde quem isto isso esse essa aquele aquela com meu minha tem posso pode ainda
são é não na nas nos ao fica faz aqui eu você mais

het een wat dit dat deze hoe waar wie wanneer waarom welke hoeveel mijn moet mag ik niet er voor met op zit heb heeft
staat naar ook nog jouw onze hier daar erin erop gaat doen

är det ett vad vem vems hur var när varför vilken vilket vilka som jag och inte på för till av ska får min mitt mina
här finns mig många mycket den

er et hvad hvem hvis hvor hvordan hvornår hvorfor hvilken hvilke hvilket hva når jeg og ikke på til af av skal må
dette denne der som meg mig noe noget slags mit

mikä mitä mitkä kuka kenen kenelle missä mistä minne mihin milloin miten kuinka paljonko montako onko voiko saako tämä
tämän tätä se sen tuo tuon ja ei vielä minun miksi millainen taman mika

mis kes kelle milleks mille kus kust kuhu millal kuidas miks kui palju mitu kas selle seda siin seal ei veel minu oma
milline millised

co kto jak gdzie kiedy ile czy czyj czyja czyje dlaczego jaki jaka jakie jest ten ta te tu się nie można mogę mój moja
moje są dla czego komu ktora o na

kdo kde kdy kolik čí proč jaký jaká jaké je tohle jsou pro můj moje ještě jsem se mohu může má čo ako kedy koľko prečo
aký aká sú môže ktorý ktorá komu mi toho tom

što šta tko ko kako gdje gde kada kad koliko čiji čija čije zašto koji koja koje li ovo ovaj ova smije može ima moj
moja za sam jesu čemu koga ili

kaj kje kdaj čigav čigava zakaj kateri katera katere ali lahko sme naj sem še zame povej

ce cine cum unde când cât câtă câți câte care este în cu pe pot poate mai asta ăsta acest această mea meu sunt și nu
pentru cui din cat cand

mi ki hogy hol mikor mennyi mennyibe milyen hány miért melyik ez az egy van kell lehet nem még és kit kié hogyan ezt
azt honnan mire

kā kur kad cik kam kāpēc kāds kāda kādas kādi ir šis šī šo tas tā vai var es man ar par uz vēl ka

kaip kada kiek kieno kodėl koks kokia kokių kokie yra ši tai čia ar galima gali aš su nuo dar kam

bu ne nedir mi mı mu kim kimin kime nerede nereden nasıl kaç hangi neden niçin şu var yok için benim bana bunu daha ve
bir

cái này là gì của ai bao nhiêu ở đâu có không thế nào được một tôi mấy kia khi nao nay

apa ini itu siapa berapa dimana mana kapan bagaimana kenapa mengapa yang dari untuk saya ada tidak bisa boleh adalah
apakah masih pakai

nini nani wapi lini gani hii hiki huu hili huyu hiyo ni ya wa na je vipi ngapi kwa ina iko naweza bado

què quin quina quins quines com quant quanta quants això aquest aquesta és els amb meu meva hi té són puc pot quan per
encara

ano anong sino saan kailan paano bakit magkano ilan ilang alin ang ng mga sa ito iyon yan ba ko mo para aking kaninong
kanino gaano puwede pa nito dito

watter hierdie daardie hoekom ek nie vir wie se

zer nor non noiz nola zenbat hau hori dago eta ez da cal canto onde cando quen hvað hver hvar hvenær hvernig þetta það
þessi ekki með cad cé conas cá cathain tá seo agus beth pwy ble pryd sut pam faint mae yw ydy hwn hyn çfarë kush ku
kur pse është kjo ky dhe nuk kio kiu kie kiam kiel kial kiom estas tio kaj

kostet cuesta cuestan custa coûte coute kost kostar koster maksaa kosztuje stojí košta
"""
"""Question words, articles, pronouns and the like of other languages in Latin letters."""
