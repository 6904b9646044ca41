// All words of the page, in every language; Python reads the texts of the rides from here too. From the second
// brace on this is JSON. Words in braces are replaced by values.
export const LANGUAGES = { en: "English", fr: "Français", de: "Deutsch", es: "Español" };

export const WORDS = {
  "page.title": {
    "en": "Ride - draisine",
    "fr": "Rouler - draisine",
    "de": "Fahren - draisine",
    "es": "Rodar - draisine"
  },
  "page.language": {
    "en": "language",
    "fr": "langue",
    "de": "Sprache",
    "es": "idioma"
  },
  "page.view": {
    "en": "the ride",
    "fr": "la route",
    "de": "die Fahrt",
    "es": "el recorrido"
  },
  "page.picture": {
    "en": "the bicycle as it rides; steer with the arrow keys",
    "fr": "le vélo qui roule ; dirigez-le avec les flèches",
    "de": "das fahrende Fahrrad; lenken Sie mit den Pfeiltasten",
    "es": "la bicicleta en marcha; se dirige con las flechas"
  },
  "page.gauges": {
    "en": "readings",
    "fr": "mesures",
    "de": "Messwerte",
    "es": "lecturas"
  },
  "page.touch": {
    "en": "touch controls",
    "fr": "commandes tactiles",
    "de": "Tasten zum Berühren",
    "es": "controles táctiles"
  },
  "page.panel": {
    "en": "settings",
    "fr": "réglages",
    "de": "Einstellungen",
    "es": "ajustes"
  },
  "ride": {
    "en": "ride",
    "fr": "parcours",
    "de": "Fahrt",
    "es": "recorrido"
  },
  "ride.rides": {
    "en": "rides",
    "fr": "parcours",
    "de": "Fahrten",
    "es": "recorridos"
  },
  "ride.tasks": {
    "en": "tasks",
    "fr": "défis",
    "de": "Aufgaben",
    "es": "retos"
  },
  "vehicle": {
    "en": "vehicle",
    "fr": "véhicule",
    "de": "Fahrzeug",
    "es": "vehículo"
  },
  "bicycle": {
    "en": "bicycle",
    "fr": "vélo",
    "de": "Fahrrad",
    "es": "bicicleta"
  },
  "bicycle.own": {
    "en": "of the ride",
    "fr": "du parcours",
    "de": "der Fahrt",
    "es": "del recorrido"
  },
  "way": {
    "en": "steer by",
    "fr": "diriger par",
    "de": "lenken mit",
    "es": "dirigir con"
  },
  "way.torque": {
    "en": "torque",
    "fr": "couple",
    "de": "Moment",
    "es": "par"
  },
  "way.angle": {
    "en": "angle",
    "fr": "angle",
    "de": "Winkel",
    "es": "ángulo"
  },
  "way.lean": {
    "en": "leaning body",
    "fr": "corps penché",
    "de": "Körperneigung",
    "es": "cuerpo inclinado"
  },
  "way.torque.feel": {
    "en": "You push, the bar answers. A push to the right starts a turn to the left.",
    "fr": "Vous poussez, le guidon répond. Une poussée à droite amorce un virage à gauche.",
    "de": "Sie drücken, der Lenker antwortet. Ein Druck nach rechts beginnt eine Kurve nach links.",
    "es": "Usted empuja y el manillar responde. Un empujón a la derecha inicia un giro a la izquierda."
  },
  "way.angle.feel": {
    "en": "The bar goes where you point. It no longer turns into a fall by itself; the help does that for it.",
    "fr": "Le guidon va où vous le mettez. Il ne tourne plus de lui-même du côté de la chute ; l'aide le fait à sa place.",
    "de": "Der Lenker geht, wohin Sie ihn stellen. Er dreht sich nicht mehr von selbst in den Sturz; das tut die Hilfe.",
    "es": "El manillar va a donde usted lo pone. Ya no gira por sí solo hacia la caída; la ayuda lo hace por él."
  },
  "way.lean.feel": {
    "en": "Hands off. Lean, and the bar follows; the frame goes the other way first.",
    "fr": "Sans les mains. Penchez-vous, et le guidon suit ; le cadre part d'abord de l'autre côté.",
    "de": "Freihändig. Neigen Sie sich, und der Lenker folgt; der Rahmen geht zuerst auf die andere Seite.",
    "es": "Sin manos. Inclínese y el manillar le sigue; el cuadro va primero hacia el otro lado."
  },
  "help": {
    "en": "help",
    "fr": "aide",
    "de": "Hilfe",
    "es": "ayuda"
  },
  "help.steering": {
    "en": "steering",
    "fr": "direction",
    "de": "Lenkung",
    "es": "dirección"
  },
  "help.none": {
    "en": "none",
    "fr": "aucune",
    "de": "keine",
    "es": "ninguna"
  },
  "help.lean": {
    "en": "into the fall (lean rate)",
    "fr": "du côté de la chute (vitesse d'inclinaison)",
    "de": "in den Sturz (Neigungsrate)",
    "es": "hacia la caída (velocidad de inclinación)"
  },
  "help.balance": {
    "en": "balance assist (slow speeds)",
    "fr": "assistance d'équilibre (petites vitesses)",
    "de": "Balancehilfe (langsame Fahrt)",
    "es": "asistente de equilibrio (baja velocidad)"
  },
  "help.hold": {
    "en": "keep the speed",
    "fr": "garder la vitesse",
    "de": "Geschwindigkeit halten",
    "es": "mantener la velocidad"
  },
  "help.demo": {
    "en": "a rider shows it",
    "fr": "un cycliste le montre",
    "de": "ein Fahrer zeigt es",
    "es": "un ciclista lo muestra"
  },
  "button.restart": {
    "en": "restart",
    "fr": "recommencer",
    "de": "neu starten",
    "es": "reiniciar"
  },
  "button.push": {
    "en": "push",
    "fr": "pousser",
    "de": "stoßen",
    "es": "empujar"
  },
  "button.pause": {
    "en": "pause",
    "fr": "pause",
    "de": "Pause",
    "es": "pausa"
  },
  "button.record": {
    "en": "record",
    "fr": "enregistrer",
    "de": "aufzeichnen",
    "es": "grabar"
  },
  "button.ghost": {
    "en": "ghost",
    "fr": "fantôme",
    "de": "Geist",
    "es": "fantasma"
  },
  "button.keys": {
    "en": "keys",
    "fr": "touches",
    "de": "Tasten",
    "es": "teclas"
  },
  "button.close": {
    "en": "close",
    "fr": "fermer",
    "de": "schließen",
    "es": "cerrar"
  },
  "camera": {
    "en": "camera",
    "fr": "caméra",
    "de": "Kamera",
    "es": "cámara"
  },
  "camera.chase": {
    "en": "chase",
    "fr": "derrière",
    "de": "Verfolger",
    "es": "detrás"
  },
  "camera.side": {
    "en": "side",
    "fr": "de côté",
    "de": "Seite",
    "es": "lateral"
  },
  "camera.top": {
    "en": "top",
    "fr": "d'en haut",
    "de": "oben",
    "es": "desde arriba"
  },
  "camera.onboard": {
    "en": "on board",
    "fr": "à bord",
    "de": "an Bord",
    "es": "a bordo"
  },
  "camera.free": {
    "en": "free",
    "fr": "libre",
    "de": "frei",
    "es": "libre"
  },
  "time": {
    "en": "time",
    "fr": "temps",
    "de": "Zeit",
    "es": "tiempo"
  },
  "ground": {
    "en": "ground",
    "fr": "sol",
    "de": "Boden",
    "es": "suelo"
  },
  "ground.own": {
    "en": "its own",
    "fr": "le sien",
    "de": "eigener",
    "es": "el suyo"
  },
  "ground.smooth": {
    "en": "smooth",
    "fr": "lisse",
    "de": "glatt",
    "es": "liso"
  },
  "ground.flat, wheels may lift": {
    "en": "flat, wheels may lift",
    "fr": "plat, les roues peuvent décoller",
    "de": "eben, Räder können abheben",
    "es": "plano, las ruedas pueden despegar"
  },
  "ground.slope": {
    "en": "slope",
    "fr": "pente",
    "de": "Hang",
    "es": "pendiente"
  },
  "ground.hills": {
    "en": "smooth hills",
    "fr": "bosses lisses",
    "de": "sanfte Hügel",
    "es": "lomas suaves"
  },
  "ground.ramp": {
    "en": "ramp",
    "fr": "tremplin",
    "de": "Rampe",
    "es": "rampa"
  },
  "ground.kerb": {
    "en": "kerb",
    "fr": "bordure",
    "de": "Bordstein",
    "es": "bordillo"
  },
  "friction": {
    "en": "friction",
    "fr": "frottement",
    "de": "Reibung",
    "es": "rozamiento"
  },
  "friction.unlimited": {
    "en": "unlimited",
    "fr": "illimité",
    "de": "unbegrenzt",
    "es": "ilimitado"
  },
  "friction.dry": {
    "en": "{mu}: dry road",
    "fr": "{mu} : route sèche",
    "de": "{mu}: trockene Straße",
    "es": "{mu}: calzada seca"
  },
  "friction.wet": {
    "en": "{mu}: wet road",
    "fr": "{mu} : route mouillée",
    "de": "{mu}: nasse Straße",
    "es": "{mu}: calzada mojada"
  },
  "friction.snow": {
    "en": "{mu}: snow",
    "fr": "{mu} : neige",
    "de": "{mu}: Schnee",
    "es": "{mu}: nieve"
  },
  "friction.ice": {
    "en": "{mu}: ice",
    "fr": "{mu} : glace",
    "de": "{mu}: Eis",
    "es": "{mu}: hielo"
  },
  "show.forces": {
    "en": "forces",
    "fr": "forces",
    "de": "Kräfte",
    "es": "fuerzas"
  },
  "show.sound": {
    "en": "sound of wind and tyres",
    "fr": "bruit du vent et des pneus",
    "de": "Geräusch von Wind und Reifen",
    "es": "sonido del viento y los neumáticos"
  },
  "quality": {
    "en": "picture",
    "fr": "image",
    "de": "Bild",
    "es": "imagen"
  },
  "quality.auto": {
    "en": "automatic",
    "fr": "automatique",
    "de": "automatisch",
    "es": "automática"
  },
  "quality.high": {
    "en": "with shadows",
    "fr": "avec ombres",
    "de": "mit Schatten",
    "es": "con sombras"
  },
  "quality.medium": {
    "en": "without shadows",
    "fr": "sans ombres",
    "de": "ohne Schatten",
    "es": "sin sombras"
  },
  "quality.low": {
    "en": "coarse",
    "fr": "grossière",
    "de": "grob",
    "es": "gruesa"
  },
  "quality.lowered": {
    "en": "The picture is simpler now, so that it stays smooth.",
    "fr": "L'image est simplifiée pour rester fluide.",
    "de": "Das Bild ist jetzt einfacher, damit es flüssig bleibt.",
    "es": "La imagen es ahora más sencilla para que siga siendo fluida."
  },
  "slow": {
    "en": "Slow motion x {factor}: this computer cannot keep up.",
    "fr": "Ralenti x {factor} : cet ordinateur est trop lent.",
    "de": "Zeitlupe x {factor}: Dieser Rechner kommt nicht mit.",
    "es": "Cámara lenta x {factor}: este ordenador no alcanza."
  },
  "parameters": {
    "en": "parameters",
    "fr": "paramètres",
    "de": "Parameter",
    "es": "parámetros"
  },
  "parameters.anew": {
    "en": "On this ground a change starts the ride anew.",
    "fr": "Sur ce sol, un changement recommence le parcours.",
    "de": "Auf diesem Boden beginnt eine Änderung die Fahrt neu.",
    "es": "En este suelo, un cambio reinicia el recorrido."
  },
  "parameter.c": {
    "en": "trail",
    "fr": "chasse",
    "de": "Nachlauf",
    "es": "avance de la dirección"
  },
  "parameter.lam": {
    "en": "tilt of the steer axis",
    "fr": "inclinaison de l'axe de direction",
    "de": "Neigung der Lenkachse",
    "es": "inclinación del eje de dirección"
  },
  "parameter.w": {
    "en": "wheelbase",
    "fr": "empattement",
    "de": "Radstand",
    "es": "distancia entre ejes"
  },
  "parameter.IFyy": {
    "en": "spin inertia of the front wheel",
    "fr": "inertie de rotation de la roue avant",
    "de": "Drehträgheit des Vorderrads",
    "es": "inercia de giro de la rueda delantera"
  },
  "parameter.IRyy": {
    "en": "spin inertia of the rear wheel",
    "fr": "inertie de rotation de la roue arrière",
    "de": "Drehträgheit des Hinterrads",
    "es": "inercia de giro de la rueda trasera"
  },
  "parameter.zB": {
    "en": "height of frame and rider (down)",
    "fr": "hauteur du cadre et du cycliste (vers le bas)",
    "de": "Höhe von Rahmen und Fahrer (nach unten)",
    "es": "altura de cuadro y ciclista (hacia abajo)"
  },
  "parameter.mB": {
    "en": "mass of frame and rider",
    "fr": "masse du cadre et du cycliste",
    "de": "Masse von Rahmen und Fahrer",
    "es": "masa de cuadro y ciclista"
  },
  "parameter.g": {
    "en": "gravity",
    "fr": "pesanteur",
    "de": "Schwerkraft",
    "es": "gravedad"
  },
  "parameter.slope": {
    "en": "slope of the ground",
    "fr": "pente du sol",
    "de": "Gefälle des Bodens",
    "es": "pendiente del suelo"
  },
  "chart": {
    "en": "real parts of the eigenvalues against speed",
    "fr": "parties réelles des valeurs propres selon la vitesse",
    "de": "Realteile der Eigenwerte über der Geschwindigkeit",
    "es": "partes reales de los valores propios según la velocidad"
  },
  "chart.caption": {
    "en": "growth (1/s) of weave and capsize against speed (m/s); the line is you",
    "fr": "croissance (1/s) du louvoiement et du chavirement selon la vitesse (m/s) ; le trait, c'est vous",
    "de": "Wachstum (1/s) von Pendeln und Kippen über der Geschwindigkeit (m/s); der Strich sind Sie",
    "es": "crecimiento (1/s) de serpenteo y vuelco según la velocidad (m/s); la línea es usted"
  },
  "chart.weave": {
    "en": "weave",
    "fr": "louvoiement",
    "de": "Pendeln",
    "es": "serpenteo"
  },
  "chart.capsize": {
    "en": "capsize",
    "fr": "chavirement",
    "de": "Kippen",
    "es": "vuelco"
  },
  "plot.angles": {
    "en": "lean right, steer left (deg)",
    "fr": "inclinaison à droite, braquage à gauche (deg)",
    "de": "Neigung nach rechts, Lenkwinkel nach links (Grad)",
    "es": "inclinación derecha, giro izquierdo (grados)"
  },
  "plot.speed": {
    "en": "speed (m/s)",
    "fr": "vitesse (m/s)",
    "de": "Geschwindigkeit (m/s)",
    "es": "velocidad (m/s)"
  },
  "plot.torques": {
    "en": "steer torque, drive (N m)",
    "fr": "couple de direction, propulsion (N m)",
    "de": "Lenkmoment, Antrieb (N m)",
    "es": "par de dirección, motor (N m)"
  },
  "plot.none": {
    "en": "Plots need the bundle that comes with the wheel of draisine.",
    "fr": "Les courbes demandent le lot fourni avec le paquet de draisine.",
    "de": "Kurven brauchen die Skripte, die mit dem Paket von draisine kommen.",
    "es": "Las gráficas necesitan los guiones que vienen con el paquete de draisine."
  },
  "plain.picture": {
    "en": "Drawn with lines only: {reason}.",
    "fr": "Dessin en traits seulement : {reason}.",
    "de": "Nur mit Linien gezeichnet: {reason}.",
    "es": "Dibujo solo con líneas: {reason}."
  },
  "plain.bundle": {
    "en": "the bundle of three.js is not installed",
    "fr": "le lot three.js n'est pas installé",
    "de": "three.js ist nicht installiert",
    "es": "three.js no está instalado"
  },
  "plain.webgl": {
    "en": "this browser works without WebGL",
    "fr": "ce navigateur fonctionne sans WebGL",
    "de": "dieser Browser arbeitet ohne WebGL",
    "es": "este navegador funciona sin WebGL"
  },
  "left": {
    "en": "left",
    "fr": "à gauche",
    "de": "links",
    "es": "izquierda"
  },
  "right": {
    "en": "right",
    "fr": "à droite",
    "de": "rechts",
    "es": "derecha"
  },
  "unit.deg": {
    "en": "deg",
    "fr": "deg",
    "de": "Grad",
    "es": "grados"
  },
  "reading.speed": {
    "en": "speed",
    "fr": "vitesse",
    "de": "Geschwindigkeit",
    "es": "velocidad"
  },
  "reading.lean": {
    "en": "lean",
    "fr": "inclinaison",
    "de": "Neigung",
    "es": "inclinación"
  },
  "reading.steer": {
    "en": "steer",
    "fr": "braquage",
    "de": "Lenkwinkel",
    "es": "giro del manillar"
  },
  "reading.torque": {
    "en": "steer torque",
    "fr": "couple",
    "de": "Lenkmoment",
    "es": "par de dirección"
  },
  "reading.drive": {
    "en": "drive",
    "fr": "propulsion",
    "de": "Antrieb",
    "es": "motor"
  },
  "reading.energy": {
    "en": "energy",
    "fr": "énergie",
    "de": "Energie",
    "es": "energía"
  },
  "reading.load": {
    "en": "least load",
    "fr": "charge minimale",
    "de": "kleinste Radlast",
    "es": "carga mínima"
  },
  "reading.friction": {
    "en": "friction needed",
    "fr": "frottement requis",
    "de": "nötige Reibung",
    "es": "rozamiento necesario"
  },
  "reading.time": {
    "en": "time",
    "fr": "temps",
    "de": "Zeit",
    "es": "tiempo"
  },
  "dial": {
    "en": "bar and lean, seen from behind",
    "fr": "guidon et inclinaison, vus de derrière",
    "de": "Lenker und Neigung, von hinten gesehen",
    "es": "manillar e inclinación, vistos desde atrás"
  },
  "again": {
    "en": "Press R to start again.",
    "fr": "Appuyez sur R pour recommencer.",
    "de": "Mit R geht es von vorn los.",
    "es": "Pulse R para empezar de nuevo."
  },
  "ending.fell": {
    "en": "It fell: the lean exceeded 45 degrees.",
    "fr": "Chute : l'inclinaison a dépassé 45 degrés.",
    "de": "Gestürzt: Die Neigung überschritt 45 Grad.",
    "es": "Caída: la inclinación superó 45 grados."
  },
  "ending.flipped": {
    "en": "The handlebar flipped: the steer angle exceeded 75 degrees.",
    "fr": "Le guidon s'est retourné : le braquage a dépassé 75 degrés.",
    "de": "Der Lenker schlug um: Der Lenkwinkel überschritt 75 Grad.",
    "es": "El manillar se cruzó: el ángulo superó 75 grados."
  },
  "ending.lifted": {
    "en": "A wheel would lift off: its normal force became negative.",
    "fr": "Une roue décollerait : sa force normale est devenue négative.",
    "de": "Ein Rad würde abheben: Seine Normalkraft wurde negativ.",
    "es": "Una rueda despegaría: su fuerza normal se hizo negativa."
  },
  "ending.slipped": {
    "en": "A wheel slips: the friction limit is exceeded.",
    "fr": "Une roue glisse : la limite de frottement est dépassée.",
    "de": "Ein Rad rutscht: Die Reibungsgrenze ist überschritten.",
    "es": "Una rueda desliza: se superó el límite de rozamiento."
  },
  "ending.turned": {
    "en": "It turned over.",
    "fr": "Le vélo s'est renversé.",
    "de": "Es überschlug sich.",
    "es": "Dio una vuelta de campana."
  },
  "ending.stopped": {
    "en": "The simulation stopped.",
    "fr": "La simulation s'est arrêtée.",
    "de": "Die Simulation hielt an.",
    "es": "La simulación se detuvo."
  },
  "message.preparing": {
    "en": "Preparing \"{ride}\": deriving and compiling its equations of motion.",
    "fr": "Préparation de « {ride} » : calcul et compilation des équations du mouvement.",
    "de": "„{ride}“ wird vorbereitet: Bewegungsgleichungen werden hergeleitet und übersetzt.",
    "es": "Preparando «{ride}»: se deducen y compilan las ecuaciones de movimiento."
  },
  "message.recorded": {
    "en": "The ride is in {file}.",
    "fr": "Le parcours est dans {file}.",
    "de": "Die Fahrt steht in {file}.",
    "es": "El recorrido está en {file}."
  },
  "message.refused": {
    "en": "{reason}; the bicycle rides on as it was.",
    "fr": "{reason} ; le vélo continue comme avant.",
    "de": "{reason}; das Fahrrad fährt weiter wie zuvor.",
    "es": "{reason}; la bicicleta sigue como estaba."
  },
  "message.lost": {
    "en": "The connection is lost. Trying again ...",
    "fr": "La connexion est perdue. Nouvel essai ...",
    "de": "Die Verbindung ist unterbrochen. Neuer Versuch ...",
    "es": "Se perdió la conexión. Nuevo intento ..."
  },
  "message.occupied": {
    "en": "Another tab is riding; this one waits.",
    "fr": "Un autre onglet roule ; celui-ci attend.",
    "de": "Ein anderes Fenster fährt; dieses wartet.",
    "es": "Otra pestaña está rodando; esta espera."
  },
  "message.paused": {
    "en": "Paused. Esc goes on.",
    "fr": "En pause. Esc pour continuer.",
    "de": "Pause. Mit Esc geht es weiter.",
    "es": "En pausa. Esc continúa."
  },
  "message.shown": {
    "en": "Nobody steers: a rider shows how. Touch a key to take over.",
    "fr": "Personne ne dirige : un cycliste montre comment. Une touche vous rend la main.",
    "de": "Niemand lenkt: Ein Fahrer zeigt, wie es geht. Mit einer Taste übernehmen Sie.",
    "es": "Nadie dirige: un ciclista muestra cómo. Pulse una tecla para tomar el mando."
  },
  "message.yours": {
    "en": "You steer.",
    "fr": "Vous dirigez.",
    "de": "Sie lenken.",
    "es": "Usted dirige."
  },
  "moment.flight": {
    "en": "in flight: no wheel touches the ground",
    "fr": "en vol : aucune roue ne touche le sol",
    "de": "im Flug: Kein Rad berührt den Boden",
    "es": "en vuelo: ninguna rueda toca el suelo"
  },
  "moment.rear": {
    "en": "the rear wheel has lifted off",
    "fr": "la roue arrière a décollé",
    "de": "das Hinterrad hat abgehoben",
    "es": "la rueda trasera ha despegado"
  },
  "moment.front": {
    "en": "the front wheel has lifted off",
    "fr": "la roue avant a décollé",
    "de": "das Vorderrad hat abgehoben",
    "es": "la rueda delantera ha despegado"
  },
  "moment.body": {
    "en": "you lean {side}, the frame first leans {other}",
    "fr": "vous vous penchez {side}, le cadre penche d'abord {other}",
    "de": "Sie neigen sich nach {side}, der Rahmen neigt sich zuerst nach {other}",
    "es": "usted se inclina a la {side}, el cuadro primero a la {other}"
  },
  "moment.counter": {
    "en": "counter-steering: you pushed {side}, it leans {other}",
    "fr": "contre-braquage : vous avez poussé {side}, il penche {other}",
    "de": "Gegenlenken: Sie drückten nach {side}, es neigt sich nach {other}",
    "es": "contramanillar: empujó a la {side}, se inclina a la {other}"
  },
  "moment.into": {
    "en": "you push {side}, yet the bar turns {other}, into the lean",
    "fr": "vous poussez {side}, mais le guidon tourne {other}, du côté de l'inclinaison",
    "de": "Sie drücken nach {side}, doch der Lenker dreht nach {other}, in die Neigung",
    "es": "empuja a la {side}, pero el manillar gira a la {other}, hacia la inclinación"
  },
  "moment.far": {
    "en": "leaning far {side}: steer {side} to come up",
    "fr": "forte inclinaison {side} : braquez {side} pour vous relever",
    "de": "starke Neigung nach {side}: Lenken Sie nach {side}, um sich aufzurichten",
    "es": "muy inclinada a la {side}: gire a la {side} para enderezarse"
  },
  "moment.turn": {
    "en": "a turn to the {side}: the bar turns into the lean",
    "fr": "virage {side} : le guidon tourne du côté de l'inclinaison",
    "de": "Kurve nach {side}: Der Lenker dreht in die Neigung",
    "es": "giro a la {side}: el manillar gira hacia la inclinación"
  },
  "moment.swing": {
    "en": "it swings to the {side}",
    "fr": "il bascule {side}",
    "de": "es schwingt nach {side}",
    "es": "oscila hacia la {side}"
  },
  "moment.straight": {
    "en": "straight ahead",
    "fr": "tout droit",
    "de": "geradeaus",
    "es": "en línea recta"
  },
  "keys": {
    "en": "How to ride",
    "fr": "Comment rouler",
    "de": "So wird gefahren",
    "es": "Cómo se maneja"
  },
  "keys.or": {
    "en": "or",
    "fr": "ou",
    "de": "oder",
    "es": "o"
  },
  "keys.steer": {
    "en": "steer (with Shift: half as much)",
    "fr": "diriger (avec Maj : moitié moins)",
    "de": "lenken (mit Umschalt: halb so stark)",
    "es": "dirigir (con Mayús: la mitad)"
  },
  "keys.speed": {
    "en": "faster, slower",
    "fr": "plus vite, moins vite",
    "de": "schneller, langsamer",
    "es": "más rápido, más despacio"
  },
  "keys.brakes": {
    "en": "brake behind, brake in front",
    "fr": "frein arrière, frein avant",
    "de": "hinten bremsen, vorn bremsen",
    "es": "freno trasero, freno delantero"
  },
  "keys.push": {
    "en": "a push from the left",
    "fr": "une poussée depuis la gauche",
    "de": "ein Stoß von links",
    "es": "un empujón desde la izquierda"
  },
  "keys.restart": {
    "en": "restart",
    "fr": "recommencer",
    "de": "neu starten",
    "es": "reiniciar"
  },
  "keys.ways": {
    "en": "steer by torque, by angle, by leaning",
    "fr": "diriger par couple, par angle, en se penchant",
    "de": "lenken mit Moment, mit Winkel, mit dem Körper",
    "es": "dirigir con par, con ángulo, con el cuerpo"
  },
  "keys.camera": {
    "en": "next camera (drag and wheel: look around)",
    "fr": "caméra suivante (glisser et molette : regarder autour)",
    "de": "nächste Kamera (Ziehen und Mausrad: umsehen)",
    "es": "siguiente cámara (arrastrar y rueda: mirar alrededor)"
  },
  "keys.pause": {
    "en": "pause",
    "fr": "pause",
    "de": "Pause",
    "es": "pausa"
  },
  "keys.space": {
    "en": "Space",
    "fr": "Espace",
    "de": "Leertaste",
    "es": "Espacio"
  },
  "keys.mouse": {
    "en": "mouse",
    "fr": "souris",
    "de": "Maus",
    "es": "ratón"
  },
  "keys.mouse.use": {
    "en": "hold the right button and move it sideways to steer",
    "fr": "tenez le bouton droit et bougez de côté pour diriger",
    "de": "rechte Taste halten und seitwärts bewegen, um zu lenken",
    "es": "mantenga el botón derecho y mueva a los lados para dirigir"
  },
  "keys.touch": {
    "en": "touch",
    "fr": "écran tactile",
    "de": "Berühren",
    "es": "pantalla táctil"
  },
  "keys.touch.use": {
    "en": "the buttons below the picture; drag to look around, two fingers to zoom",
    "fr": "les boutons sous l'image ; glisser pour regarder autour, deux doigts pour zoomer",
    "de": "die Knöpfe unter dem Bild; Ziehen zum Umsehen, zwei Finger zum Vergrößern",
    "es": "los botones bajo la imagen; arrastrar para mirar, dos dedos para acercar"
  },
  "keys.gamepad": {
    "en": "gamepad",
    "fr": "manette",
    "de": "Gamepad",
    "es": "mando"
  },
  "keys.gamepad.use": {
    "en": "left stick steers, triggers drive and brake, left shoulder brakes in front, A pushes, X restarts, Y next camera, Start pauses",
    "fr": "stick gauche dirige, gâchettes propulsent et freinent, bouton L1 frein avant, A pousse, X recommence, Y change la caméra, Start met en pause",
    "de": "linker Stick lenkt, Schultertasten unten fahren und bremsen, links oben bremst vorn, A stößt, X startet neu, Y nächste Kamera, Start hält an",
    "es": "la palanca izquierda dirige, los gatillos impulsan y frenan, el botón L1 frena delante, A empuja, X reinicia, Y cambia la cámara, Start pausa"
  },
  "touch.left": {
    "en": "steer left",
    "fr": "diriger à gauche",
    "de": "nach links lenken",
    "es": "dirigir a la izquierda"
  },
  "touch.right": {
    "en": "steer right",
    "fr": "diriger à droite",
    "de": "nach rechts lenken",
    "es": "dirigir a la derecha"
  },
  "touch.faster": {
    "en": "faster",
    "fr": "accélérer",
    "de": "schneller",
    "es": "acelerar"
  },
  "touch.slower": {
    "en": "slower",
    "fr": "ralentir",
    "de": "langsamer",
    "es": "reducir"
  },
  "touch.rear": {
    "en": "rear brake",
    "fr": "frein arrière",
    "de": "Bremse hinten",
    "es": "freno trasero"
  },
  "touch.front": {
    "en": "front brake",
    "fr": "frein avant",
    "de": "Bremse vorn",
    "es": "freno delantero"
  },
  "machine.lesson": {
    "en": "Push it (P), turn its joints (arrow keys).",
    "fr": "Poussez-le (P), tournez ses articulations (flèches).",
    "de": "Stoßen Sie es an (P), drehen Sie seine Gelenke (Pfeiltasten).",
    "es": "Empújelo (P), gire sus articulaciones (flechas)."
  },
  "slalom.title": {
    "en": "Six cones",
    "fr": "Six cônes",
    "de": "Sechs Kegel",
    "es": "Seis conos"
  },
  "slalom.lesson": {
    "en": "Pass the six cones in turns on the left and on the right, without touching one. Begin with a small weave early.",
    "fr": "Passez les six cônes tour à tour à gauche et à droite, sans en toucher. Commencez tôt à onduler.",
    "de": "Fahren Sie abwechselnd links und rechts an den sechs Kegeln vorbei, ohne einen zu berühren. Beginnen Sie früh mit einem kleinen Bogen.",
    "es": "Pase los seis conos alternando izquierda y derecha, sin tocar ninguno. Empiece pronto con una pequeña curva."
  },
  "slalom.question": {
    "en": "You want to pass the first cone on its left. Which way do you push the bar first?",
    "fr": "Vous voulez passer le premier cône par la gauche. De quel côté poussez-vous d'abord le guidon ?",
    "de": "Sie wollen links am ersten Kegel vorbei. Nach welcher Seite drücken Sie den Lenker zuerst?",
    "es": "Quiere pasar el primer cono por la izquierda. ¿Hacia qué lado empuja primero el manillar?"
  },
  "slalom.choice.0": {
    "en": "to the right",
    "fr": "à droite",
    "de": "nach rechts",
    "es": "a la derecha"
  },
  "slalom.choice.1": {
    "en": "to the left",
    "fr": "à gauche",
    "de": "nach links",
    "es": "a la izquierda"
  },
  "slalom.choice.2": {
    "en": "to neither side",
    "fr": "d'aucun côté",
    "de": "nach keiner Seite",
    "es": "a ningún lado"
  },
  "slalom.answer": {
    "en": "To the right: the wheels roll out to the right, the bicycle leans left, and then the bar turns left. Look for it in the plot: the torque comes first, then the lean, then the yaw.",
    "fr": "À droite : les roues sortent à droite, le vélo penche à gauche, puis le guidon tourne à gauche. Voyez-le dans la courbe : d'abord le couple, puis l'inclinaison, puis le lacet.",
    "de": "Nach rechts: Die Räder rollen nach rechts hinaus, das Fahrrad neigt sich nach links, und dann dreht der Lenker nach links. Die Kurven zeigen es: zuerst das Moment, dann die Neigung, dann der Gierwinkel.",
    "es": "A la derecha: las ruedas salen a la derecha, la bicicleta se inclina a la izquierda y después el manillar gira a la izquierda. Búsquelo en la gráfica: primero el par, luego la inclinación, luego la guiñada."
  },
  "circle.title": {
    "en": "A circle",
    "fr": "Un cercle",
    "de": "Ein Kreis",
    "es": "Un círculo"
  },
  "circle.lesson": {
    "en": "Follow the yellow line into the green ring, and ride once around it to the left: its radius is 10 m, and you may be 1.5 m off.",
    "fr": "Suivez la ligne jaune jusqu'à l'anneau vert, et faites-en le tour par la gauche : son rayon est de 10 m, avec 1.5 m d'écart permis.",
    "de": "Folgen Sie der gelben Linie in den grünen Ring und fahren Sie links herum einmal im Kreis: Der Radius ist 10 m, 1.5 m Abweichung sind erlaubt.",
    "es": "Siga la línea amarilla hasta el anillo verde y dé una vuelta a la izquierda: su radio es de 10 m y puede desviarse 1.5 m."
  },
  "circle.question": {
    "en": "How far does the bicycle lean in this circle at 4 m/s?",
    "fr": "De combien le vélo penche-t-il dans ce cercle à 4 m/s ?",
    "de": "Wie weit neigt sich das Fahrrad in diesem Kreis bei 4 m/s?",
    "es": "¿Cuánto se inclina la bicicleta en este círculo a 4 m/s?"
  },
  "circle.choice.0": {
    "en": "2 degrees",
    "fr": "2 degrés",
    "de": "2 Grad",
    "es": "2 grados"
  },
  "circle.choice.1": {
    "en": "9 degrees",
    "fr": "9 degrés",
    "de": "9 Grad",
    "es": "9 grados"
  },
  "circle.choice.2": {
    "en": "25 degrees",
    "fr": "25 degrés",
    "de": "25 Grad",
    "es": "25 grados"
  },
  "circle.answer": {
    "en": "About 9 degrees: the contact forces point to the mass centre, so the tangent of the lean is v2 / (g r) = 0.163.",
    "fr": "Environ 9 degrés : les forces de contact passent par le centre de masse, la tangente de l'inclinaison vaut donc v2 / (g r) = 0.163.",
    "de": "Etwa 9 Grad: Die Kontaktkräfte zeigen zum Schwerpunkt, also ist der Tangens der Neigung v2 / (g r) = 0.163.",
    "es": "Unos 9 grados: las fuerzas de contacto apuntan al centro de masas, así que la tangente de la inclinación es v2 / (g r) = 0.163."
  },
  "slow.title": {
    "en": "Ten seconds, slowly",
    "fr": "Dix secondes, lentement",
    "de": "Zehn Sekunden langsam",
    "es": "Diez segundos, despacio"
  },
  "slow.lesson": {
    "en": "Stay up for 10 s at 2.5 m/s, without help. Stay below 3 m/s.",
    "fr": "Tenez 10 s à 2.5 m/s, sans aide. Restez sous 3 m/s.",
    "de": "Bleiben Sie bei 2.5 m/s ohne Hilfe 10 s aufrecht. Bleiben Sie unter 3 m/s.",
    "es": "Aguante 10 s a 2.5 m/s, sin ayuda. No pase de 3 m/s."
  },
  "slow.question": {
    "en": "The bicycle falls to the right. Which way must the bar turn?",
    "fr": "Le vélo tombe à droite. De quel côté le guidon doit-il tourner ?",
    "de": "Das Fahrrad fällt nach rechts. Wohin muss der Lenker drehen?",
    "es": "La bicicleta se cae a la derecha. ¿Hacia dónde debe girar el manillar?"
  },
  "slow.choice.0": {
    "en": "to the right, into the fall",
    "fr": "à droite, du côté de la chute",
    "de": "nach rechts, in den Sturz",
    "es": "a la derecha, hacia la caída"
  },
  "slow.choice.1": {
    "en": "to the left, away from it",
    "fr": "à gauche, de l'autre côté",
    "de": "nach links, von ihm weg",
    "es": "a la izquierda, al lado contrario"
  },
  "slow.choice.2": {
    "en": "it stays straight",
    "fr": "il reste droit",
    "de": "er bleibt gerade",
    "es": "se queda recto"
  },
  "slow.answer": {
    "en": "Into the fall: the wheels roll below the mass centre again. Push briefly and little, and push back before it comes up.",
    "fr": "Du côté de la chute : les roues reviennent sous le centre de masse. Poussez peu et brièvement, et en sens inverse avant qu'il ne se redresse.",
    "de": "In den Sturz: Die Räder rollen wieder unter den Schwerpunkt. Drücken Sie kurz und wenig, und drücken Sie zurück, bevor es sich aufrichtet.",
    "es": "Hacia la caída: las ruedas vuelven bajo el centro de masas. Empuje poco y brevemente, y al contrario antes de que se enderece."
  },
  "lane.title": {
    "en": "Lane change",
    "fr": "Changement de voie",
    "de": "Spurwechsel",
    "es": "Cambio de carril"
  },
  "lane.lesson": {
    "en": "Change from the right lane to the left one between the cones, and stay in the green lane to the line.",
    "fr": "Passez de la voie de droite à celle de gauche entre les cônes, et restez dans la voie verte jusqu'à la ligne.",
    "de": "Wechseln Sie zwischen den Kegeln von der rechten auf die linke Spur und bleiben Sie bis zur Linie auf der grünen Spur.",
    "es": "Cambie del carril derecho al izquierdo entre los conos y siga en el carril verde hasta la línea."
  },
  "lane.question": {
    "en": "To which sides does the bicycle lean during the change to the left?",
    "fr": "De quels côtés le vélo penche-t-il pendant le changement vers la gauche ?",
    "de": "Nach welchen Seiten neigt sich das Fahrrad beim Wechsel nach links?",
    "es": "¿Hacia qué lados se inclina la bicicleta durante el cambio a la izquierda?"
  },
  "lane.choice.0": {
    "en": "to the left only",
    "fr": "seulement à gauche",
    "de": "nur nach links",
    "es": "solo a la izquierda"
  },
  "lane.choice.1": {
    "en": "first left, then right",
    "fr": "d'abord à gauche, puis à droite",
    "de": "zuerst links, dann rechts",
    "es": "primero izquierda, luego derecha"
  },
  "lane.choice.2": {
    "en": "to the right only",
    "fr": "seulement à droite",
    "de": "nur nach rechts",
    "es": "solo a la derecha"
  },
  "lane.answer": {
    "en": "First left, to turn, then right, to turn back. Each lean begins with a push to the other side.",
    "fr": "D'abord à gauche, pour tourner, puis à droite, pour revenir. Chaque inclinaison commence par une poussée du côté opposé.",
    "de": "Zuerst links, um abzubiegen, dann rechts, um zurückzukommen. Jede Neigung beginnt mit einem Druck nach der anderen Seite.",
    "es": "Primero a la izquierda, para girar, luego a la derecha, para volver. Cada inclinación empieza con un empujón hacia el otro lado."
  },
  "landing.title": {
    "en": "A level landing",
    "fr": "Atterrir à plat",
    "de": "Eben landen",
    "es": "Aterrizaje plano"
  },
  "landing.lesson": {
    "en": "Jump, and land with both wheels within 0.06 s. The up key drives the rear wheel; time runs slowly.",
    "fr": "Sautez, et posez les deux roues à moins de 0.06 s. La touche du haut propulse la roue arrière ; le temps passe lentement.",
    "de": "Springen Sie, und landen Sie mit beiden Rädern innerhalb von 0.06 s. Die Taste nach oben treibt das Hinterrad an; die Zeit läuft langsam.",
    "es": "Salte y aterrice con ambas ruedas en menos de 0.06 s. La tecla de arriba impulsa la rueda trasera; el tiempo pasa despacio."
  },
  "landing.question": {
    "en": "In flight the nose drops. What raises it?",
    "fr": "En vol, le nez baisse. Qu'est-ce qui le relève ?",
    "de": "Im Flug senkt sich die Nase. Was hebt sie?",
    "es": "En el aire el morro baja. ¿Qué lo levanta?"
  },
  "landing.choice.0": {
    "en": "driving the rear wheel",
    "fr": "propulser la roue arrière",
    "de": "das Hinterrad antreiben",
    "es": "impulsar la rueda trasera"
  },
  "landing.choice.1": {
    "en": "braking the front wheel",
    "fr": "freiner la roue avant",
    "de": "das Vorderrad bremsen",
    "es": "frenar la rueda delantera"
  },
  "landing.choice.2": {
    "en": "nothing: the ground is not touched",
    "fr": "rien : le sol n'est pas touché",
    "de": "nichts: Der Boden wird nicht berührt",
    "es": "nada: no se toca el suelo"
  },
  "landing.answer": {
    "en": "Driving the rear wheel: the angular momentum stays, so the bicycle turns against the wheel. Braking a wheel does the opposite.",
    "fr": "Propulser la roue arrière : le moment cinétique se conserve, le vélo tourne donc à l'inverse de la roue. Freiner une roue fait le contraire.",
    "de": "Das Hinterrad antreiben: Der Drehimpuls bleibt erhalten, also dreht sich das Fahrrad gegen das Rad. Ein Rad zu bremsen bewirkt das Gegenteil.",
    "es": "Impulsar la rueda trasera: el momento angular se conserva, y la bicicleta gira al revés que la rueda. Frenar una rueda hace lo contrario."
  },
  "stop.title": {
    "en": "Stop before the line",
    "fr": "S'arrêter avant la ligne",
    "de": "Vor der Linie halten",
    "es": "Parar antes de la línea"
  },
  "stop.lesson": {
    "en": "From 8 m/s, stop with the front wheel in the last metre (1 m) before the line.",
    "fr": "À partir de 8 m/s, arrêtez la roue avant dans le dernier mètre (1 m) avant la ligne.",
    "de": "Halten Sie aus 8 m/s mit dem Vorderrad im letzten Meter (1 m) vor der Linie.",
    "es": "Desde 8 m/s, pare con la rueda delantera en el último metro (1 m) antes de la línea."
  },
  "stop.question": {
    "en": "Which brake stops you in the shorter distance?",
    "fr": "Quel frein arrête sur la plus courte distance ?",
    "de": "Welche Bremse hält auf kürzerem Weg an?",
    "es": "¿Qué freno para en menos distancia?"
  },
  "stop.choice.0": {
    "en": "the front brake",
    "fr": "le frein avant",
    "de": "die Vorderradbremse",
    "es": "el delantero"
  },
  "stop.choice.1": {
    "en": "the rear brake",
    "fr": "le frein arrière",
    "de": "die Hinterradbremse",
    "es": "el trasero"
  },
  "stop.choice.2": {
    "en": "both the same",
    "fr": "les deux autant",
    "de": "beide gleich",
    "es": "los dos igual"
  },
  "stop.answer": {
    "en": "The front brake: braking shifts load to the front wheel, so it can use more friction, until the rear wheel lifts off.",
    "fr": "Le frein avant : le freinage charge la roue avant, elle dispose donc de plus de frottement, jusqu'à ce que la roue arrière se lève.",
    "de": "Die Vorderradbremse: Beim Bremsen wird das Vorderrad stärker belastet und kann mehr Reibung nutzen, bis das Hinterrad abhebt.",
    "es": "El delantero: al frenar, la carga pasa a la rueda delantera, que dispone de más rozamiento, hasta que la trasera se levanta."
  },
  "ice.title": {
    "en": "Upright on ice",
    "fr": "Debout sur la glace",
    "de": "Aufrecht auf Eis",
    "es": "En pie sobre hielo"
  },
  "ice.lesson": {
    "en": "The friction is 0.05. Pass the cone and reach the line at 40 m upright. Taps, no pushes.",
    "fr": "Le frottement est de 0.05. Passez le cône et atteignez debout la ligne à 40 m. De petites touches, pas de poussées.",
    "de": "Die Reibung ist 0.05. Fahren Sie am Kegel vorbei und erreichen Sie die Linie bei 40 m aufrecht. Nur antippen, nicht drücken.",
    "es": "El rozamiento es 0.05. Pase el cono y llegue en pie a la línea de 40 m. Toques, no empujones."
  },
  "ice.question": {
    "en": "How far can a bicycle lean in a steady turn with friction 0.05?",
    "fr": "De combien un vélo peut-il pencher en virage régulier avec un frottement de 0.05 ?",
    "de": "Wie weit kann sich ein Fahrrad in einer gleichmäßigen Kurve bei Reibung 0.05 neigen?",
    "es": "¿Cuánto puede inclinarse una bicicleta en un giro constante con rozamiento 0.05?"
  },
  "ice.choice.0": {
    "en": "about 3 degrees",
    "fr": "environ 3 degrés",
    "de": "etwa 3 Grad",
    "es": "unos 3 grados"
  },
  "ice.choice.1": {
    "en": "about 15 degrees",
    "fr": "environ 15 degrés",
    "de": "etwa 15 Grad",
    "es": "unos 15 grados"
  },
  "ice.choice.2": {
    "en": "as far as on a dry road",
    "fr": "autant que sur route sèche",
    "de": "so weit wie auf trockener Straße",
    "es": "tanto como en seco"
  },
  "ice.answer": {
    "en": "About 3 degrees: the contact force leans as much as the bicycle, and the tangent of that angle cannot exceed the friction.",
    "fr": "Environ 3 degrés : la force de contact penche autant que le vélo, et la tangente de cet angle ne peut dépasser le frottement.",
    "de": "Etwa 3 Grad: Die Kontaktkraft neigt sich so weit wie das Fahrrad, und der Tangens dieses Winkels kann die Reibung nicht übersteigen.",
    "es": "Unos 3 grados: la fuerza de contacto se inclina tanto como la bicicleta, y la tangente de ese ángulo no puede superar el rozamiento."
  },
  "task.solved": {
    "en": "Solved!",
    "fr": "Réussi !",
    "de": "Gelöst!",
    "es": "¡Conseguido!"
  },
  "task.ended": {
    "en": "The ride ended before the task was solved.",
    "fr": "Le parcours s'est terminé avant la fin du défi.",
    "de": "Die Fahrt endete vor der Lösung.",
    "es": "El recorrido terminó antes de resolver el reto."
  },
  "task.touched": {
    "en": "A wheel touched a cone.",
    "fr": "Une roue a touché un cône.",
    "de": "Ein Rad berührte einen Kegel.",
    "es": "Una rueda tocó un cono."
  },
  "task.left": {
    "en": "The bicycle left the road.",
    "fr": "Le vélo a quitté la route.",
    "de": "Das Fahrrad hat die Straße verlassen.",
    "es": "La bicicleta se salió de la carretera."
  },
  "slalom.side": {
    "en": "Two cones were passed on the same side.",
    "fr": "Deux cônes ont été passés du même côté.",
    "de": "Zwei Kegel wurden auf derselben Seite passiert.",
    "es": "Dos conos se pasaron por el mismo lado."
  },
  "circle.left": {
    "en": "A wheel left the green ring.",
    "fr": "Une roue a quitté l'anneau vert.",
    "de": "Ein Rad verließ den grünen Ring.",
    "es": "Una rueda salió del anillo verde."
  },
  "slow.fast": {
    "en": "It became too fast.",
    "fr": "Trop rapide.",
    "de": "Es wurde zu schnell.",
    "es": "Fue demasiado rápido."
  },
  "lane.early": {
    "en": "A wheel left the right lane before the gap.",
    "fr": "Une roue a quitté la voie de droite avant le passage.",
    "de": "Ein Rad verließ die rechte Spur vor der Lücke.",
    "es": "Una rueda salió del carril derecho antes del hueco."
  },
  "lane.late": {
    "en": "A wheel was not in the green lane in time.",
    "fr": "Une roue n'était pas à temps dans la voie verte.",
    "de": "Ein Rad war nicht rechtzeitig auf der grünen Spur.",
    "es": "Una rueda no llegó a tiempo al carril verde."
  },
  "landing.apart": {
    "en": "The wheels did not land together.",
    "fr": "Les roues ne se sont pas posées ensemble.",
    "de": "Die Räder landeten nicht zusammen.",
    "es": "Las ruedas no aterrizaron juntas."
  },
  "stop.over": {
    "en": "The front wheel crossed the line.",
    "fr": "La roue avant a franchi la ligne.",
    "de": "Das Vorderrad überfuhr die Linie.",
    "es": "La rueda delantera cruzó la línea."
  },
  "stop.early": {
    "en": "It stopped too early.",
    "fr": "Arrêt trop tôt.",
    "de": "Zu früh angehalten.",
    "es": "Paró demasiado pronto."
  },
  "task.predict": {
    "en": "First predict",
    "fr": "D'abord, votre prévision",
    "de": "Zuerst eine Vorhersage",
    "es": "Primero, su predicción"
  },
  "task.start": {
    "en": "start",
    "fr": "commencer",
    "de": "los",
    "es": "empezar"
  },
  "task.again": {
    "en": "once more",
    "fr": "encore une fois",
    "de": "noch einmal",
    "es": "otra vez"
  },
  "task.next": {
    "en": "next task",
    "fr": "défi suivant",
    "de": "nächste Aufgabe",
    "es": "siguiente reto"
  },
  "task.feedback": {
    "en": "How it went",
    "fr": "Comment ça s'est passé",
    "de": "So lief es",
    "es": "Cómo fue"
  },
  "task.time": {
    "en": "time {time} s, best time {best} s",
    "fr": "temps {time} s, meilleur temps {best} s",
    "de": "Zeit {time} s, beste Zeit {best} s",
    "es": "tiempo {time} s, mejor tiempo {best} s"
  },
  "task.unsolved": {
    "en": "after {time} s",
    "fr": "après {time} s",
    "de": "nach {time} s",
    "es": "tras {time} s"
  },
  "task.right": {
    "en": "Your prediction was right.",
    "fr": "Votre prévision était juste.",
    "de": "Ihre Vorhersage stimmte.",
    "es": "Su predicción era correcta."
  },
  "task.wrong": {
    "en": "Your prediction was \"{choice}\".",
    "fr": "Votre prévision était « {choice} ».",
    "de": "Ihre Vorhersage war „{choice}“.",
    "es": "Su predicción era «{choice}»."
  },
  "task.plot": {
    "en": "torque, lean and yaw of the ride",
    "fr": "couple, inclinaison et lacet du parcours",
    "de": "Moment, Neigung und Gierwinkel der Fahrt",
    "es": "par, inclinación y guiñada del recorrido"
  },
  "task.torque": {
    "en": "steer torque, N m left",
    "fr": "couple, N m à gauche",
    "de": "Lenkmoment, N m links",
    "es": "par, N m izquierda"
  },
  "task.lean": {
    "en": "lean, deg left",
    "fr": "inclinaison, deg à gauche",
    "de": "Neigung, Grad links",
    "es": "inclinación, grados izquierda"
  },
  "task.yaw": {
    "en": "yaw, deg left",
    "fr": "lacet, deg à gauche",
    "de": "Gierwinkel, Grad links",
    "es": "guiñada, grados izquierda"
  },
  "task.moment": {
    "en": "moment",
    "fr": "instant",
    "de": "Zeitpunkt",
    "es": "instante"
  },
  "task.progress": {
    "en": "progress of the task",
    "fr": "avancement du défi",
    "de": "Fortschritt der Aufgabe",
    "es": "avance del reto"
  },
  "data": {
    "en": "data and links",
    "fr": "données et liens",
    "de": "Daten und Links",
    "es": "datos y enlaces"
  },
  "data.csv": {
    "en": "save this ride (CSV)",
    "fr": "enregistrer ce parcours (CSV)",
    "de": "diese Fahrt speichern (CSV)",
    "es": "guardar este recorrido (CSV)"
  },
  "data.link": {
    "en": "copy a link to this ride",
    "fr": "copier un lien vers ce parcours",
    "de": "Link zu dieser Fahrt kopieren",
    "es": "copiar un enlace a este recorrido"
  },
  "data.copied": {
    "en": "The link is in the clipboard: it carries ride, parameters and language.",
    "fr": "Le lien est dans le presse-papiers : il contient parcours, paramètres et langue.",
    "de": "Der Link ist in der Zwischenablage: Er enthält Fahrt, Parameter und Sprache.",
    "es": "El enlace está en el portapapeles: contiene recorrido, parámetros e idioma."
  },
  "data.results": {
    "en": "save my results",
    "fr": "enregistrer mes résultats",
    "de": "meine Ergebnisse speichern",
    "es": "guardar mis resultados"
  },
  "data.forget": {
    "en": "forget my results",
    "fr": "effacer mes résultats",
    "de": "meine Ergebnisse löschen",
    "es": "borrar mis resultados"
  },
  "data.teacher": {
    "en": "for teachers",
    "fr": "pour les enseignants",
    "de": "für Lehrkräfte",
    "es": "para docentes"
  },
  "teacher": {
    "en": "Results of a class",
    "fr": "Résultats d'une classe",
    "de": "Ergebnisse einer Klasse",
    "es": "Resultados de una clase"
  },
  "teacher.note": {
    "en": "Choose the result files of your students. They are read here and sent nowhere; they contain no names, so name the files.",
    "fr": "Choisissez les fichiers de résultats de vos élèves. Ils sont lus ici et ne sont envoyés nulle part ; ils ne contiennent aucun nom, nommez donc les fichiers.",
    "de": "Wählen Sie die Ergebnisdateien Ihrer Klasse. Sie werden hier gelesen und nirgends hingeschickt; sie enthalten keine Namen, benennen Sie also die Dateien.",
    "es": "Elija los archivos de resultados de su clase. Se leen aquí y no se envían a ninguna parte; no contienen nombres, así que nombre los archivos."
  },
  "teacher.choose": {
    "en": "result files",
    "fr": "fichiers de résultats",
    "de": "Ergebnisdateien",
    "es": "archivos de resultados"
  },
  "teacher.file": {
    "en": "file",
    "fr": "fichier",
    "de": "Datei",
    "es": "archivo"
  },
  "teacher.cell": {
    "en": "{best} s, {attempts} attempts, {prediction}",
    "fr": "{best} s, {attempts} essais, {prediction}",
    "de": "{best} s, {attempts} Versuche, {prediction}",
    "es": "{best} s, {attempts} intentos, {prediction}"
  },
  "teacher.open": {
    "en": "not solved, {attempts} attempts, {prediction}",
    "fr": "non réussi, {attempts} essais, {prediction}",
    "de": "nicht gelöst, {attempts} Versuche, {prediction}",
    "es": "sin resolver, {attempts} intentos, {prediction}"
  },
  "teacher.none": {
    "en": "not tried",
    "fr": "pas essayé",
    "de": "nicht versucht",
    "es": "sin intentar"
  },
  "teacher.foresaw": {
    "en": "first prediction right",
    "fr": "première prévision juste",
    "de": "erste Vorhersage richtig",
    "es": "primera predicción correcta"
  },
  "teacher.missed": {
    "en": "first prediction wrong",
    "fr": "première prévision fausse",
    "de": "erste Vorhersage falsch",
    "es": "primera predicción errónea"
  },
  "teacher.sum": {
    "en": "solved / predicted",
    "fr": "réussis / prévus",
    "de": "gelöst / vorhergesagt",
    "es": "resueltos / previstos"
  },
  "teacher.bad": {
    "en": "{file} is no result file of this page.",
    "fr": "{file} n'est pas un fichier de résultats de cette page.",
    "de": "{file} ist keine Ergebnisdatei dieser Seite.",
    "es": "{file} no es un archivo de resultados de esta página."
  },
  "teacher.table": {
    "en": "save as CSV",
    "fr": "enregistrer en CSV",
    "de": "als CSV speichern",
    "es": "guardar como CSV"
  },
  "teacher.back": {
    "en": "to the ride",
    "fr": "vers le parcours",
    "de": "zur Fahrt",
    "es": "al recorrido"
  },
  "steer-torque.title": {
    "en": "Steer by torque",
    "fr": "Diriger par le couple",
    "de": "Lenken mit dem Moment",
    "es": "Dirigir con el par"
  },
  "steer-torque.lesson": {
    "en": "Tap right: the bar turns right, and the bicycle leans left. To turn left, first push right.",
    "fr": "Appuyez un instant à droite : le guidon tourne à droite, et le vélo penche à gauche. Pour tourner à gauche, poussez d'abord à droite.",
    "de": "Tippen Sie nach rechts: Der Lenker dreht nach rechts, und das Fahrrad neigt sich nach links. Um nach links zu fahren, drücken Sie zuerst nach rechts.",
    "es": "Dé un toque a la derecha: el manillar gira a la derecha y la bicicleta se inclina a la izquierda. Para girar a la izquierda, empuje primero a la derecha."
  },
  "steer-torque.question": {
    "en": "Why does a short push to the right start a turn to the left?",
    "fr": "Pourquoi une courte poussée à droite amorce-t-elle un virage à gauche ?",
    "de": "Warum beginnt ein kurzer Druck nach rechts eine Kurve nach links?",
    "es": "¿Por qué un breve empujón a la derecha inicia un giro a la izquierda?"
  },
  "steer-torque.answer": {
    "en": "The wheels roll out to the right from under the mass centre, and so the bicycle leans left; then the front wheel turns into the lean by itself.",
    "fr": "Les roues sortent vers la droite de dessous le centre de masse, et le vélo penche donc à gauche ; puis la roue avant tourne d'elle-même du côté de l'inclinaison.",
    "de": "Die Räder rollen nach rechts unter dem Schwerpunkt heraus, und so neigt sich das Fahrrad nach links; dann dreht das Vorderrad von selbst in die Neigung.",
    "es": "Las ruedas salen hacia la derecha de debajo del centro de masas, y por eso la bicicleta se inclina a la izquierda; después la rueda delantera gira por sí sola hacia la inclinación."
  },
  "steer-angle.title": {
    "en": "Steer by angle",
    "fr": "Diriger par l'angle",
    "de": "Lenken mit dem Winkel",
    "es": "Dirigir con el ángulo"
  },
  "steer-angle.lesson": {
    "en": "The bar follows the angle that you set; the help adds an angle into the fall. Without help nobody can ride this way by keys.",
    "fr": "Le guidon suit l'angle que vous réglez ; l'aide ajoute un angle du côté de la chute. Sans aide, personne ne peut rouler ainsi au clavier.",
    "de": "Der Lenker folgt dem Winkel, den Sie vorgeben; die Hilfe fügt einen Winkel in den Sturz hinzu. Ohne Hilfe kann so niemand mit Tasten fahren.",
    "es": "El manillar sigue el ángulo que usted fija; la ayuda añade un ángulo hacia la caída. Sin ayuda, nadie puede rodar así con teclas."
  },
  "steer-angle.question": {
    "en": "Why is a bicycle with a guided bar harder to ride than one with a free bar?",
    "fr": "Pourquoi un vélo au guidon imposé est-il plus difficile à conduire qu'un vélo au guidon libre ?",
    "de": "Warum ist ein Fahrrad mit geführtem Lenker schwerer zu fahren als eines mit freiem Lenker?",
    "es": "¿Por qué es más difícil llevar una bicicleta con el manillar guiado que con el manillar libre?"
  },
  "steer-angle.answer": {
    "en": "A guided bar cannot turn into the fall by itself, and this self-steering keeps a bicycle up.",
    "fr": "Un guidon imposé ne peut pas tourner de lui-même du côté de la chute, et c'est cet effet qui tient un vélo debout.",
    "de": "Ein geführter Lenker kann sich nicht selbst in den Sturz drehen, und diese Selbstlenkung hält ein Fahrrad aufrecht.",
    "es": "Un manillar guiado no puede girar por sí solo hacia la caída, y ese giro es lo que mantiene en pie una bicicleta."
  },
  "steer-lean.title": {
    "en": "Steer by leaning",
    "fr": "Diriger en se penchant",
    "de": "Lenken mit dem Körper",
    "es": "Dirigir con el cuerpo"
  },
  "steer-lean.lesson": {
    "en": "Hands off: lean the upper body left, and the frame moves right at first. The bar follows.",
    "fr": "Sans les mains : penchez le buste à gauche, et le cadre part d'abord à droite. Le guidon suit.",
    "de": "Freihändig: Neigen Sie den Oberkörper nach links, und der Rahmen geht zuerst nach rechts. Der Lenker folgt.",
    "es": "Sin manos: incline el tronco a la izquierda y el cuadro se mueve primero a la derecha. El manillar le sigue."
  },
  "steer-lean.question": {
    "en": "Where does the frame move when the rider leans left, and why?",
    "fr": "Où va le cadre quand le cycliste se penche à gauche, et pourquoi ?",
    "de": "Wohin geht der Rahmen, wenn sich der Fahrer nach links neigt, und warum?",
    "es": "¿Hacia dónde se mueve el cuadro cuando el ciclista se inclina a la izquierda, y por qué?"
  },
  "steer-lean.answer": {
    "en": "To the right at first: no force acts from outside, so the frame moves opposite to the upper body. Then the bar turns into the lean, and the turn begins.",
    "fr": "D'abord à droite : aucune force extérieure n'agit, le cadre part donc à l'opposé du buste. Puis le guidon tourne du côté de l'inclinaison, et le virage commence.",
    "de": "Zuerst nach rechts: Von außen wirkt keine Kraft, deshalb geht der Rahmen dem Oberkörper entgegen. Dann dreht der Lenker in die Neigung, und die Kurve beginnt.",
    "es": "Primero a la derecha: ninguna fuerza actúa desde fuera, así que el cuadro se mueve al revés que el tronco. Después el manillar gira hacia la inclinación y empieza el giro."
  },
  "self-stable.title": {
    "en": "It rides by itself",
    "fr": "Il roule tout seul",
    "de": "Es fährt von selbst",
    "es": "Rueda por sí sola"
  },
  "self-stable.lesson": {
    "en": "Hands off at 5 m/s: push it (P), and it recovers.",
    "fr": "Sans les mains à 5 m/s : poussez-le (P), et il se redresse.",
    "de": "Freihändig bei 5 m/s: Stoßen Sie es an (P), und es fängt sich.",
    "es": "Sin manos a 5 m/s: empújela (P) y se endereza."
  },
  "self-stable.question": {
    "en": "At which speeds does this bicycle stay up without a rider?",
    "fr": "À quelles vitesses ce vélo reste-t-il debout sans cycliste ?",
    "de": "Bei welchen Geschwindigkeiten bleibt dieses Fahrrad ohne Fahrer aufrecht?",
    "es": "¿A qué velocidades se mantiene en pie esta bicicleta sin ciclista?"
  },
  "self-stable.answer": {
    "en": "From 4.292 to 6.024 m/s all eigenvalues have negative real parts: weave is damped, and capsize does not grow yet.",
    "fr": "De 4.292 à 6.024 m/s, toutes les valeurs propres ont une partie réelle négative : le louvoiement est amorti, et le chavirement ne croît pas encore.",
    "de": "Von 4.292 bis 6.024 m/s haben alle Eigenwerte negative Realteile: Das Pendeln ist gedämpft, und das Kippen wächst noch nicht.",
    "es": "De 4.292 a 6.024 m/s todos los valores propios tienen parte real negativa: el serpenteo está amortiguado y el vuelco aún no crece."
  },
  "weave.title": {
    "en": "Weave",
    "fr": "Louvoiement",
    "de": "Pendeln",
    "es": "Serpenteo"
  },
  "weave.lesson": {
    "en": "A little slower, 3.5 m/s: after a push it snakes from side to side.",
    "fr": "Un peu plus lent, à 3.5 m/s : après une poussée, il serpente d'un côté à l'autre.",
    "de": "Etwas langsamer, bei 3.5 m/s: Nach einem Stoß schlängelt es sich von Seite zu Seite.",
    "es": "Algo más despacio, a 3.5 m/s: tras un empujón serpentea de lado a lado."
  },
  "weave.question": {
    "en": "How do lean and steer move in the weave, and which comes first?",
    "fr": "Comment bougent l'inclinaison et le braquage, et lequel vient en premier ?",
    "de": "Wie bewegen sich Neigung und Lenkwinkel beim Pendeln, und was kommt zuerst?",
    "es": "¿Cómo se mueven la inclinación y el manillar en el serpenteo, y cuál va primero?"
  },
  "weave.answer": {
    "en": "They oscillate with one frequency, the steer after the lean; below 4.292 m/s the swing grows.",
    "fr": "Ils oscillent à la même fréquence, le braquage après l'inclinaison ; sous 4.292 m/s, l'oscillation croît.",
    "de": "Sie schwingen mit einer Frequenz, der Lenkwinkel nach der Neigung; unter 4.292 m/s wächst die Schwingung.",
    "es": "Oscilan con la misma frecuencia, el manillar después de la inclinación; por debajo de 4.292 m/s la oscilación crece."
  },
  "fall.title": {
    "en": "Too slow",
    "fr": "Trop lent",
    "de": "Zu langsam",
    "es": "Demasiado lenta"
  },
  "fall.lesson": {
    "en": "At 2.5 m/s it falls within two seconds. Can you keep it up? The balance assist can.",
    "fr": "À 2.5 m/s, il tombe en deux secondes. Pouvez-vous le tenir debout ? L'assistance d'équilibre le peut.",
    "de": "Bei 2.5 m/s stürzt es innerhalb von zwei Sekunden. Können Sie es aufrecht halten? Die Balancehilfe kann es.",
    "es": "A 2.5 m/s se cae en menos de dos segundos. ¿Puede mantenerla en pie? El asistente de equilibrio puede."
  },
  "fall.question": {
    "en": "Why does the balance assist steer into the fall?",
    "fr": "Pourquoi l'assistance braque-t-elle du côté de la chute ?",
    "de": "Warum lenkt die Balancehilfe in den Sturz?",
    "es": "¿Por qué el asistente gira hacia la caída?"
  },
  "fall.answer": {
    "en": "Steering into the fall rolls the wheels back below the mass centre; the bicycle needs more of it the slower it rolls.",
    "fr": "Braquer du côté de la chute ramène les roues sous le centre de masse ; plus le vélo est lent, plus il faut braquer.",
    "de": "Das Lenken in den Sturz rollt die Räder wieder unter den Schwerpunkt; je langsamer das Fahrrad rollt, desto mehr davon braucht es.",
    "es": "Girar hacia la caída devuelve las ruedas bajo el centro de masas; cuanto más despacio rueda la bicicleta, más giro necesita."
  },
  "capsize.title": {
    "en": "Capsize",
    "fr": "Chavirement",
    "de": "Kippen",
    "es": "Vuelco"
  },
  "capsize.lesson": {
    "en": "At 8 m/s it leans over slowly, in an ever tighter spiral; time runs four times as fast.",
    "fr": "À 8 m/s, il se penche lentement, en une spirale toujours plus serrée ; le temps passe quatre fois plus vite.",
    "de": "Bei 8 m/s neigt es sich langsam, in einer immer engeren Spirale; die Zeit läuft vier Mal so schnell.",
    "es": "A 8 m/s se inclina despacio, en una espiral cada vez más cerrada; el tiempo va cuatro veces más rápido."
  },
  "capsize.question": {
    "en": "How fast does the lean grow?",
    "fr": "À quelle vitesse l'inclinaison croît-elle ?",
    "de": "Wie schnell wächst die Neigung?",
    "es": "¿Con qué rapidez crece la inclinación?"
  },
  "capsize.answer": {
    "en": "By 15.4 % in each second: the capsize eigenvalue at 8 m/s is 0.143 1/s, and exp(0.143) = 1.154.",
    "fr": "De 15.4 % par seconde : la valeur propre du chavirement à 8 m/s est 0.143 1/s, et exp(0.143) = 1.154.",
    "de": "Um 15.4 % in jeder Sekunde: Der Eigenwert des Kippens bei 8 m/s ist 0.143 1/s, und exp(0.143) = 1.154.",
    "es": "Un 15.4 % cada segundo: el valor propio del vuelco a 8 m/s es 0.143 1/s, y exp(0.143) = 1.154."
  },
  "skate.title": {
    "en": "No gyroscopes, no trail",
    "fr": "Sans gyroscopes ni chasse",
    "de": "Ohne Kreisel, ohne Nachlauf",
    "es": "Sin giróscopos ni avance"
  },
  "skate.lesson": {
    "en": "Two point masses on massless wheels: no gyroscopic effect, no trail, and still stable. (The mass is far in front: the ground has to hold the rear wheel down.)",
    "fr": "Deux masses ponctuelles sur des roues sans masse : pas d'effet gyroscopique, pas de chasse, et pourtant stable. (La masse est loin devant : le sol doit retenir la roue arrière.)",
    "de": "Zwei Punktmassen auf masselosen Rädern: keine Kreiselwirkung, kein Nachlauf, und doch stabil. (Die Masse liegt weit vorn: Der Boden muss das Hinterrad festhalten.)",
    "es": "Dos masas puntuales sobre ruedas sin masa: sin efecto giroscópico, sin avance, y aun así estable. (La masa está muy adelante: el suelo tiene que sujetar la rueda trasera.)"
  },
  "skate.question": {
    "en": "Why does it stay up without gyroscopes and trail?",
    "fr": "Pourquoi tient-il debout sans gyroscopes ni chasse ?",
    "de": "Warum bleibt es ohne Kreisel und Nachlauf aufrecht?",
    "es": "¿Por qué se mantiene en pie sin giróscopos ni avance?"
  },
  "skate.answer": {
    "en": "The front mass is low and ahead of the steer axis: it falls faster than the frame and turns the bar into the fall (Kooijman and others 2011).",
    "fr": "La masse avant est basse et en avant de l'axe de direction : elle tombe plus vite que le cadre et tourne le guidon du côté de la chute (Kooijman et autres 2011).",
    "de": "Die vordere Masse liegt tief und vor der Lenkachse: Sie fällt schneller als der Rahmen und dreht den Lenker in den Sturz (Kooijman und andere 2011).",
    "es": "La masa delantera está baja y por delante del eje de dirección: cae más deprisa que el cuadro y gira el manillar hacia la caída (Kooijman y otros 2011)."
  },
  "slope.title": {
    "en": "Down a slope",
    "fr": "En descente",
    "de": "Bergab",
    "es": "Cuesta abajo"
  },
  "slope.lesson": {
    "en": "Five degrees down without brakes: the speed grows from weave to capsize.",
    "fr": "Cinq degrés de descente sans freins : la vitesse monte du louvoiement au chavirement.",
    "de": "Fünf Grad bergab ohne Bremsen: Die Geschwindigkeit wächst vom Pendeln bis zum Kippen.",
    "es": "Cinco grados cuesta abajo sin frenos: la velocidad crece desde el serpenteo hasta el vuelco."
  },
  "slope.question": {
    "en": "How fast is it after ten seconds?",
    "fr": "Quelle est sa vitesse après dix secondes ?",
    "de": "Wie schnell ist es nach zehn Sekunden?",
    "es": "¿Qué velocidad lleva tras diez segundos?"
  },
  "slope.answer": {
    "en": "From 4 to 12.2 m/s: gravity along the slope is g sin 5 deg = 0.855 m/s2, the spin of the wheels takes 4 % of it, and 0.823 m/s2 remain.",
    "fr": "De 4 à 12.2 m/s : la pesanteur le long de la pente est g sin 5 deg = 0.855 m/s2, la rotation des roues en prend 4 %, et il reste 0.823 m/s2.",
    "de": "Von 4 auf 12.2 m/s: Die Schwerkraft längs des Hangs ist g sin 5 deg = 0.855 m/s2, die Drehung der Räder nimmt davon 4 %, und 0.823 m/s2 bleiben.",
    "es": "De 4 a 12.2 m/s: la gravedad a lo largo de la pendiente es g sin 5 deg = 0.855 m/s2, el giro de las ruedas se lleva un 4 %, y quedan 0.823 m/s2."
  },
  "hills.title": {
    "en": "Over smooth hills",
    "fr": "Sur des bosses lisses",
    "de": "Über sanfte Hügel",
    "es": "Sobre lomas suaves"
  },
  "hills.lesson": {
    "en": "Over waves of 40 cm without pedalling. Keep straight.",
    "fr": "Sur des vagues de 40 cm sans pédaler. Restez droit.",
    "de": "Über Wellen von 40 cm, ohne zu treten. Geradeaus halten.",
    "es": "Sobre ondas de 40 cm sin pedalear. Manténgase recto."
  },
  "hills.question": {
    "en": "How slow does it become on the crests?",
    "fr": "À quelle vitesse descend-il sur les crêtes ?",
    "de": "Wie langsam wird es auf den Kuppen?",
    "es": "¿A qué velocidad baja en las crestas?"
  },
  "hills.answer": {
    "en": "From 5 to 3.8 m/s: the height costs energy, and while the nose drops over a crest the rider moves faster than the wheels below. Where the nose rises again, the wheels are the faster ones: up to 5.3 m/s.",
    "fr": "De 5 à 3.8 m/s : la hauteur coûte de l'énergie, et tant que le nez s'abaisse sur une crête, le cycliste va plus vite que les roues sous lui. Là où le nez se relève, les roues vont plus vite : jusqu'à 5.3 m/s.",
    "de": "Von 5 auf 3.8 m/s: Die Höhe kostet Energie, und während sich die Nase über der Kuppe senkt, bewegt sich der Fahrer schneller als die Räder unter ihm. Wo sich die Nase wieder hebt, sind die Räder schneller: bis 5.3 m/s.",
    "es": "De 5 a 3.8 m/s: la altura cuesta energía y, mientras el morro baja sobre una cresta, el ciclista va más rápido que las ruedas bajo él. Donde el morro vuelve a subir, las ruedas van más rápido: hasta 5.3 m/s."
  },
  "ramp.title": {
    "en": "Ramp jump",
    "fr": "Saut du tremplin",
    "de": "Sprung über die Rampe",
    "es": "Salto de rampa"
  },
  "ramp.lesson": {
    "en": "Up a ramp of ten degrees and half a metre down. Keep straight, fly, land.",
    "fr": "Montez un tremplin de dix degrés, puis un demi-mètre plus bas. Restez droit, volez, atterrissez.",
    "de": "Eine Rampe von zehn Grad hinauf und einen halben Meter hinunter. Geradeaus fahren, fliegen, landen.",
    "es": "Suba una rampa de diez grados y baje medio metro. Recto, vuele y aterrice."
  },
  "ramp.question": {
    "en": "Which wheel lands first, and what could change that in flight?",
    "fr": "Quelle roue touche le sol en premier, et qu'est-ce qui pourrait y changer quelque chose en vol ?",
    "de": "Welches Rad landet zuerst, und was könnte das im Flug ändern?",
    "es": "¿Qué rueda toca el suelo primero y qué podría cambiarlo en el vuelo?"
  },
  "ramp.answer": {
    "en": "The front wheel: the nose drops while the rear wheel is still on the ramp. Braking a wheel in flight drops the nose further, driving the rear wheel raises it.",
    "fr": "La roue avant : le nez baisse tant que la roue arrière est encore sur le tremplin. Freiner une roue en vol baisse encore le nez, propulser la roue arrière le relève.",
    "de": "Das Vorderrad: Die Nase senkt sich, solange das Hinterrad noch auf der Rampe ist. Ein Rad im Flug zu bremsen senkt die Nase weiter, das Hinterrad anzutreiben hebt sie.",
    "es": "La delantera: el morro baja mientras la rueda trasera aún está en la rampa. Frenar una rueda en el aire baja más el morro; impulsar la rueda trasera lo levanta."
  },
  "kerb.title": {
    "en": "Kerb",
    "fr": "Bordure",
    "de": "Bordstein",
    "es": "Bordillo"
  },
  "kerb.lesson": {
    "en": "Roll five centimetres up at 4 m/s, without pedalling: each wheel loses energy at the edge.",
    "fr": "Montez une bordure de cinq centimètres à 4 m/s, sans pédaler : chaque roue perd de l'énergie au bord.",
    "de": "Rollen Sie bei 4 m/s fünf Zentimeter hinauf, ohne zu treten: Jedes Rad verliert an der Kante Energie.",
    "es": "Suba cinco centímetros a 4 m/s sin pedalear: cada rueda pierde energía en el borde."
  },
  "kerb.question": {
    "en": "How much speed does the bicycle lose at the kerb?",
    "fr": "Combien de vitesse le vélo perd-il à la bordure ?",
    "de": "Wie viel Geschwindigkeit verliert das Fahrrad am Bordstein?",
    "es": "¿Cuánta velocidad pierde la bicicleta en el bordillo?"
  },
  "kerb.answer": {
    "en": "From 4 to 2.75 m/s. The kinetic energy falls by 412 J: 46 J raise the bicycle by five centimetres, and 366 J are lost, because each plastic impact removes the velocity towards the edge.",
    "fr": "De 4 à 2.75 m/s. L'énergie cinétique baisse de 412 J : 46 J élèvent le vélo de cinq centimètres, et 366 J sont perdus, car chaque choc plastique annule la vitesse vers le bord.",
    "de": "Von 4 auf 2.75 m/s. Die Bewegungsenergie sinkt um 412 J: 46 J heben das Fahrrad um fünf Zentimeter, und 366 J gehen verloren, weil jeder plastische Stoß die Geschwindigkeit zur Kante hin aufzehrt.",
    "es": "De 4 a 2.75 m/s. La energía cinética baja 412 J: 46 J elevan la bicicleta cinco centímetros y 366 J se pierden, porque cada choque plástico anula la velocidad hacia el borde."
  },
  "wheelie.title": {
    "en": "Wheelie with help",
    "fr": "Roue arrière avec aide",
    "de": "Wheelie mit Hilfe",
    "es": "Caballito con ayuda"
  },
  "wheelie.lesson": {
    "en": "Hold the up key: the drive raises the front wheel by 19 degrees and holds it there.",
    "fr": "Tenez la touche du haut : la propulsion lève la roue avant de 19 degrés et la tient là.",
    "de": "Halten Sie die Taste nach oben: Der Antrieb hebt das Vorderrad um 19 Grad und hält es dort.",
    "es": "Mantenga la tecla de arriba: el motor levanta la rueda delantera 19 grados y la mantiene ahí."
  },
  "wheelie.question": {
    "en": "Which torque lifts the front wheel?",
    "fr": "Quel couple lève la roue avant ?",
    "de": "Welches Moment hebt das Vorderrad?",
    "es": "¿Qué par levanta la rueda delantera?"
  },
  "wheelie.answer": {
    "en": "The torque whose acceleration a balances the moment of the weight about the rear contact: a (m h + IRyy/rR + IFyy/rF) = g m x, with the mass centre at x ahead of the contact and at the height h; the spin of the wheels counts too. For the benchmark bicycle a is 3.84 m/s2, with 112 N m at the rear wheel.",
    "fr": "Le couple dont l'accélération a équilibre le moment du poids autour du contact arrière : a (m h + IRyy/rR + IFyy/rF) = g m x, avec le centre de masse à x en avant du contact et à la hauteur h ; la rotation des roues compte aussi. Pour le vélo de référence, a vaut 3.84 m/s2, avec 112 N m à la roue arrière.",
    "de": "Das Moment, dessen Beschleunigung a das Moment des Gewichts um den hinteren Aufstandspunkt ausgleicht: a (m h + IRyy/rR + IFyy/rF) = g m x, mit dem Schwerpunkt x vor dem Aufstandspunkt und in der Höhe h; auch die Drehung der Räder zählt. Für das Vergleichsfahrrad ist a 3.84 m/s2, mit 112 N m am Hinterrad.",
    "es": "El par cuya aceleración a equilibra el momento del peso respecto al contacto trasero: a (m h + IRyy/rR + IFyy/rF) = g m x, con el centro de masas a x por delante del contacto y a la altura h; el giro de las ruedas también cuenta. Para la bicicleta de referencia a es 3.84 m/s2, con 112 N m en la rueda trasera."
  },
  "brake.title": {
    "en": "Braking until the rear wheel lifts",
    "fr": "Freiner jusqu'à lever la roue arrière",
    "de": "Bremsen, bis das Hinterrad abhebt",
    "es": "Frenar hasta levantar la rueda trasera"
  },
  "brake.lesson": {
    "en": "Brake in front (B), with 300 N m: the rear wheel comes up. Release the brake before the bicycle turns over.",
    "fr": "Freinez devant (B), avec 300 N m : la roue arrière se lève. Relâchez le frein avant que le vélo ne se renverse.",
    "de": "Bremsen Sie vorn (B), mit 300 N m: Das Hinterrad kommt hoch. Lassen Sie los, bevor sich das Fahrrad überschlägt.",
    "es": "Frene delante (B), con 300 N m: la rueda trasera se levanta. Suelte el freno antes de que la bicicleta vuelque."
  },
  "brake.question": {
    "en": "At which deceleration does it lift?",
    "fr": "À quelle décélération se lève-t-elle ?",
    "de": "Bei welcher Verzögerung hebt es ab?",
    "es": "¿Con qué deceleración se levanta?"
  },
  "brake.answer": {
    "en": "When a (m h + IRyy/rR + IFyy/rF) = g m (w - x): the moments of inertia forces and weight about the front contact, with the mass centre at w - x behind it and at the height h. For the benchmark bicycle a is 7.61 m/s2, with 260 N m at the front brake.",
    "fr": "Quand a (m h + IRyy/rR + IFyy/rF) = g m (w - x) : les moments des forces d'inertie et du poids autour du contact avant, avec le centre de masse à w - x derrière lui et à la hauteur h. Pour le vélo de référence, a vaut 7.61 m/s2, avec 260 N m au frein avant.",
    "de": "Wenn a (m h + IRyy/rR + IFyy/rF) = g m (w - x): die Momente der Trägheitskräfte und des Gewichts um den vorderen Aufstandspunkt, mit dem Schwerpunkt w - x dahinter und in der Höhe h. Für das Vergleichsfahrrad ist a 7.61 m/s2, mit 260 N m an der Vorderradbremse.",
    "es": "Cuando a (m h + IRyy/rR + IFyy/rF) = g m (w - x): los momentos de las fuerzas de inercia y del peso respecto al contacto delantero, con el centro de masas a w - x por detrás y a la altura h. Para la bicicleta de referencia a es 7.61 m/s2, con 260 N m en el freno delantero."
  },
  "brake.fact": {
    "en": "This bicycle lifts its rear wheel at {acceleration} m/s2: {torque} N m at the front brake.",
    "fr": "Ce vélo lève sa roue arrière à {acceleration} m/s2 : {torque} N m au frein avant.",
    "de": "Dieses Fahrrad hebt sein Hinterrad bei {acceleration} m/s2: {torque} N m an der Vorderradbremse.",
    "es": "Esta bicicleta levanta la rueda trasera a {acceleration} m/s2: {torque} N m en el freno delantero."
  },
  "wheelie.fact": {
    "en": "This bicycle lifts its front wheel at {acceleration} m/s2: {torque} N m at the rear wheel.",
    "fr": "Ce vélo lève sa roue avant à {acceleration} m/s2 : {torque} N m à la roue arrière.",
    "de": "Dieses Fahrrad hebt sein Vorderrad bei {acceleration} m/s2: {torque} N m am Hinterrad.",
    "es": "Esta bicicleta levanta la rueda delantera a {acceleration} m/s2: {torque} N m en la rueda trasera."
  }
};
