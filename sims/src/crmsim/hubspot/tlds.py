"""Top-level domains that the account believes in: a closed list, as HubSpot refuses `.con` and `.lcom`.

All country codes, the old generic ones and those of the newer generic ones that business addresses use. What is missing
here is one switch away (`extra_tlds`).
"""

COUNTRIES = (
    "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd "
    "cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gd ge "
    "gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh "
    "ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw "
    "mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb "
    "sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk "
    "us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw"
)
GENERIC = (
    "com org net edu gov mil int arpa biz info name pro aero asia cat coop jobs mobi museum post tel travel xxx "
    "academy accountants actor adult agency ai alsace amsterdam app art associates attorney auction audio auto band "
    "bank bar barcelona bayern beer berlin best bet bid bike bio black blog blue boston boutique broker brussels build "
    "builders business buzz cab cafe cam camera camp capital car cards care career careers cars casa cash casino "
    "catering center ceo chat cheap church city claims cleaning click clinic clothing cloud club coach codes coffee "
    "college cologne community company computer condos construction consulting contractors cooking cool corsica "
    "country coupons courses credit cricket cruises dance data date day deals degree delivery democrat dental dentist "
    "design dev diamonds digital direct directory discount doctor dog domains download earth eco education email "
    "energy engineer engineering enterprises equipment estate events exchange expert express fail faith family fan "
    "fans farm fashion film finance financial fish fit fitness flights florist flowers foo football forsale "
    "foundation frl fun fund furniture fyi gallery game games garden gent gift gifts gives glass global gmbh gold golf "
    "graphics gratis green group guide guru hamburg haus health healthcare help hiphop hockey holdings holiday homes "
    "horse hospital host hosting hotel house how inc industries ink institute insurance insure international "
    "investments ist istanbul jetzt jewelry juegos kaufen kim kitchen kiwi koeln land law lawyer lease legal lgbt life "
    "lighting limited limo link live llc loan loans lol london love ltd ltda madrid maison management market marketing "
    "mba media melbourne memorial men menu miami moda moe money mortgage moscow movie nagoya network new news ngo "
    "ninja nyc one ong online ooo page paris partners parts party pet photo photography photos physio pics pictures "
    "pink pizza place plumbing plus poker porn press productions promo properties pub quebec racing recipes red "
    "rehab reise reisen rent rentals repair report republican rest restaurant review reviews rich rip rocks rodeo run "
    "ruhr saarland sale salon sarl school schule science scot security select services sexy shoes shop shopping show "
    "singles site ski soccer social software solar solutions space sport store stream studio study style supplies "
    "supply support surf surgery swiss sydney systems tattoo tax taxi team tech technology tennis theater tickets "
    "tienda tips tires tirol today tokyo tools top tours town toys trade trading training tube university uno "
    "vacations vegas ventures vet viajes video villas vin vip vision vlaanderen vodka vote voting voyage wales wang "
    "watch webcam website wedding wien wiki win wine work works world wtf xyz yachts yoga yokohama zone"
)
KNOWN = frozenset(f"{COUNTRIES} {GENERIC}".split())
