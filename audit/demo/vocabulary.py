"""Who the demo's patients are and where they are seen. All of it is invented here; no line stems from a real chart.

Owns people, places and social facts. Knows nothing of medicine: see `conditions.py` and `diagnoses.py`.
"""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FEMALE_NAMES: tuple[str, ...] = _words(
    "Adela Agnes Alba Amara Anneke Ariadne Astrid Beatrix Birgit Bridget Calla Carmela Cecily Celeste Clarice "
    "Cosima Dahlia Delphine Dorothea Edith Eleni Elspeth Esme Estela Fern Fiona Flora Freya Gemma Ginevra Greta "
    "Hattie Helga Hester Ianthe Imogen Ines Iris Isolde Jocasta Junia Kalila Katya Leocadia Leonie Lidia Liesel "
    "Lorena Lucinda Mabel Maeve Marisol Maud Mireille Nadia Nerys Nicolette Noor Odette Olwen Ottilie Paloma "
    "Perpetua Petra Philippa Quilla Ramona Renata Rosalba Rowena Sabine Saoirse Selma Sidonie Sunniva Tamsin "
    "Thalia Theodora Ursula Valeria Verity Vesna Wilhelmina Winifred Xenia Yara Yolanda Zadie Zelda Zinnia"
)
MALE_NAMES: tuple[str, ...] = _words(
    "Abelard Alaric Ambrose Anselm Arvid Augustin Balthazar Barnaby Bertrand Caspian Cedric Clement Cornelius "
    "Cyprian Dashiell Desmond Edmund Eloy Emeric Fabian Ferdinand Florian Gaspard Gideon Gunther Hamish Horatio "
    "Ignacio Isidore Jarvis Jerome Kaspar Lambert Leander Leopold Ludovic Lysander Magnus Mateo Milo Mortimer "
    "Nestor Nils Octavio Orson Osvald Percival Quentin Rafael Rainer Roderick Rufus Silas Soren Tancred Thaddeus "
    "Tobias Ulric Valentin Virgil Walden Winston Yannick Zoltan"
)
#: A surname is one beginning and one ending, so that none is anyone's in particular.
SURNAME_BEGINNINGS: tuple[str, ...] = _words(
    "Alder Amber Ash Barrow Birch Bramble Brindle Calder Candle Cinder Clover Copper Crane Dapple Dunnock Elder "
    "Fallow Fennel Finch Flax Garnet Glen Hazel Heron Holly Ivory Jasper Kestrel Lark Linden Loam Marl Merle "
    "Moss Nettle Oaken Osprey Pewter Plover Quill Raven Rowan Saffron Sedge Sorrel Tansy Thistle Umber Vetch "
    "Willow Wren Yarrow"
)
SURNAME_ENDINGS: tuple[str, ...] = _words(
    "bank beck bourne bury by cott croft dale den fell field gate ham hurst ley low mere mont more ridge shaw "
    "stead stow thorpe ton vale wick worth"
)
PROVIDERS: tuple[tuple[str, str], ...] = (
    ("Anton", "Velmarsh"),
    ("Bettina", "Orrick"),
    ("Conrad", "Pellgrove"),
    ("Daria", "Quistmoor"),
    ("Emil", "Hollanby"),
    ("Frida", "Stanmere"),
    ("Gregor", "Tillwick"),
    ("Hanne", "Uphurst"),
    ("Ilse", "Wexcombe"),
    ("Jonas", "Yelverden"),
    ("Karin", "Ambleforth"),
    ("Lukas", "Brackwater"),
    ("Milena", "Corvane"),
    ("Nico", "Dunfallow"),
    ("Orla", "Estermont"),
    ("Piet", "Farrowgate"),
)
#: Practice i employs providers 2i and 2i + 1.
PRACTICES: tuple[str, ...] = (
    "Harbor Mill Family Medicine",
    "Cedar Bend Primary Care",
    "Stonebridge Internal Medicine",
    "Lakeview Community Clinic",
    "Northfork Health Partners",
    "Old Orchard Medical Group",
    "Prairie Gate Family Practice",
    "Silverton Square Clinic",
)
#: Race and ethnicity with weights, after the training cohort of Table 6.
RACES: tuple[tuple[str, float], ...] = (
    ("white", 80.0),
    ("hispanic", 11.9),
    ("black", 6.6),
    ("asian", 1.2),
    ("american indian or alaska native", 0.2),
    ("native hawaiian or pacific islander", 0.1),
)
#: Ages at the latest visit: upper end (inclusive) of a band and its share, after Table 7.
AGE_BANDS: tuple[tuple[int, float], ...] = ((34, 0.15), (49, 0.26), (64, 0.28), (79, 0.22), (88, 0.09))
YOUNGEST = 19
MARITAL_STATUSES: tuple[str, ...] = ("single", "married", "married", "divorced", "widowed", "separated")
OCCUPATIONS: tuple[str, ...] = (
    "accountant",
    "baker",
    "beekeeper",
    "bookbinder",
    "bus driver",
    "butcher",
    "carpenter",
    "cellist",
    "chemist",
    "clockmaker",
    "court reporter",
    "crane operator",
    "dairy farmer",
    "dental hygienist",
    "electrician",
    "event planner",
    "ferry pilot",
    "florist",
    "forester",
    "glazier",
    "hairdresser",
    "insurance adjuster",
    "interpreter",
    "janitor",
    "land surveyor",
    "librarian",
    "locksmith",
    "machinist",
    "mail carrier",
    "mason",
    "music teacher",
    "optician",
    "painter",
    "paralegal",
    "pastry chef",
    "piano tuner",
    "plumber",
    "potter",
    "real estate agent",
    "roofer",
    "school principal",
    "seamstress",
    "sign painter",
    "software tester",
    "tax clerk",
    "tile setter",
    "translator",
    "truck driver",
    "upholsterer",
    "welder",
)
HOUSEHOLDS: tuple[str, ...] = (
    "lives alone with two cats",
    "lives with a younger sister",
    "lives on a houseboat",
    "lives above the shop",
    "lives with an elderly aunt",
    "lives on a small farm",
    "lives with a roommate",
    "lives in a third-floor walk-up",
    "lives next door to a cousin",
    "lives with a retired greyhound",
)
PASTIMES: tuple[str, ...] = (
    "keeps bees",
    "sings in a choir",
    "restores radios",
    "swims every morning",
    "grows dahlias",
    "plays the accordion",
    "hikes on weekends",
    "bakes for the parish",
    "carves decoys",
    "coaches softball",
    "repairs bicycles",
    "quilts",
    "paints miniatures",
    "fishes for trout",
    "collects stamps",
    "weaves baskets",
)
HABITS: tuple[str, ...] = (
    "never smoker; no alcohol",
    "never smoker; wine with dinner",
    "former smoker, quit in {year}; rare alcohol",
    "half a pack a day since {year}; beer on weekends",
    "never smoker; takes vitamin d and fish oil",
    "former smoker, quit in {year}; takes magnesium",
)
SURGERIES: tuple[str, ...] = (
    "none",
    "appendectomy in {year}",
    "tonsillectomy in childhood",
    "cholecystectomy in {year}",
    "left knee arthroscopy in {year}",
    "carpal tunnel release in {year}",
    "cataract removal in {year}",
    "inguinal hernia repair in {year}",
    "wisdom teeth removed in {year}",
)
ALLERGIES: tuple[str, ...] = (
    "no known drug allergies",
    "penicillin (rash)",
    "sulfa (hives)",
    "codeine (nausea)",
    "latex (itching)",
    "shellfish (swelling)",
    "amoxicillin (hives)",
    "contrast dye (flushing)",
)
RELATIVES: tuple[str, ...] = ("mother", "father", "sister", "brother", "aunt", "grandmother", "grandfather")
FAMILY_CONDITIONS: tuple[str, ...] = (
    "type 2 diabetes",
    "hypertension",
    "breast cancer",
    "colon cancer",
    "stroke",
    "glaucoma",
    "coronary artery disease",
    "osteoporosis",
    "rheumatoid arthritis",
    "kidney stones",
)
