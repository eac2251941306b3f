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
a i is are was am be do to in on at of for by my me may can as so no all he her over under man us we u ur see had give
open name time week water door bad far long till pour dose blade ring lamp machine filter hand code type date
"""
"""English words that other languages have as well."""

VOCABULARY = """
accurate across address afterwards ahead alive allergens allergic allowed along apart appointment arrive author autumn
away bags bake balls batteries beforehand begin behind belong belt besides bikes birth birthday bite black blood bloom
blue boat bones borrow both bottle bottles bottom brake branches bread break breakfast breed bring broken brown build
built burn button buttons cake call cancel candle carrots carry carved catch caught chair changed charge charged check
checked chicken chicks clamp cleaned cleaning clear closed cloth coats cleaner coffee coin collected colours comes
coming connect cooked covered crank curry cuts cutting damaged dangerous daughter days dead deep degrees deliver
deposit detergent different dishwasher doctor donated done dough drain drawer drill drive driving eggs electricity
emergency emptied empties empty ends english evening exactly exist expire expiry eyes feed female fence ferment
fertilise fifty fill firm fits five fixed floor flour flower fold found four free freeze fridge friend frozen fuel
full game gauge gave gloves glue going gone grass green grind grow grown handed hands hang happen happened happens
harvest heat heating heavy help hibernate high hold holds hole holes holiday holidays home hook hurt included inside
inspection installed instead insurance insured itself jacket jars july jump kept keys kilometres ladder laid large
leak learn leave lift lights listed little living load loads locked longer lost loud lower lying measure meat medicine
microwave middle milk missing money morning mother move myself needle needles night noise noon nose nuts oldest once
opened opening originally other ourselves outside oven overnight owns pack packed pads paid paint painted painting
pairing pallets paper parts password pays pegs people pick picked picture pictures pipes pitch plants plasters play
playing plays plums poisonous press pressed pressure prey properly pull pump push quickly rain reach reading ready
recognise remote renewed repair repaired repairs replace resoled responsible restored ride rinse roof round rubbish
running salt same saturday scissors screws seat security seed sell send serial serviced setting sharpen sharpened
sheep shirt shoes shoot showing shows shut sieve sign since skates sleep slow smell soak soap somebody sound soup
spare speak speed spend stain stairs steel step sticks stolen stops stored straight strap strings strong stuck stuff
sugar summer sunday supposed survive swap swim switch taken tall taste teacher teaches temperature thick thing things
third three throw times today together tonight took touch tower toxic translate tree trees tuning turns tyre tyres
uncle valid value variety visitors wait walk walnut warm warranty washed watch waterproof wattage watts wear weigh
weights well went wheels white wide wifi window wine wire woman wood wool working worth write written wrong wrote
years yellow young
"""
"""English words that are often in questions about things, and seldom in other languages."""

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
"""
"""Question words, articles, pronouns and the like of other languages in Latin letters."""
