package question

// technologies are outside tools, languages and systems.
var technologies = set(`
	postgres postgresql mysql mariadb sqlite redis mongodb cassandra dynamodb elasticsearch opensearch
	clickhouse duckdb kafka rabbitmq nats pulsar etcd consul zookeeper memcached kubernetes k8s nomad docker
	podman containerd helm terraform ansible puppet chef pulumi vagrant jenkins github gitlab bitbucket circleci
	travis argo react vue angular svelte solid ember jquery nextjs next.js nuxt remix astro tailwind bootstrap
	webpack vite esbuild rollup parcel babel eslint prettier python java javascript typescript rust go golang
	ruby php perl kotlin swift scala haskell ocaml erlang elixir clojure julia zig nim c c++ cpp c# csharp f#
	fortran cobol lua dart lisp r matlab django flask fastapi rails sinatra laravel symfony spring quarkus
	express koa nestjs phoenix gin echo fiber actix axum rocket linux windows macos ubuntu debian fedora arch
	centos alpine freebsd openbsd android ios aws azure gcp heroku vercel netlify cloudflare digitalocean
	hetzner nginx apache caddy traefik haproxy envoy istio linkerd openssl libressl wireguard openvpn git
	mercurial svn vim emacs neovim vscode intellij numpy pandas pytorch tensorflow jax keras spark hadoop flink
	airflow dbt snowflake bigquery prometheus grafana datadog sentry splunk opentelemetry graphql grpc rest soap
	protobuf thrift avro json yaml toml xml parquet arrow llama gpt claude gemini mistral chatgpt ollama vllm
	openai anthropic lodash electron tauri flutter qt gtk wasm webassembly raft paxos md5 sha1 sha256 bcrypt
	argon2 aes rsa jwt oauth saml http http2 http3 quic tcp udp mqtt websocket`)

// aboutWorld is about the world beyond the project.
var aboutWorld = []line{
	{Points{Research: 6}, `
		{tech} or|vs|versus|and|than {tech}, {tech} ... compared|compare to|with {tech}, from {tech} to {tech},
		vs, versus, should i|one|you|people,
		should we use|move|switch|adopt|choose|pick|go|migrate|stay|buy|self|host|rewrite,
		would i|it make sense, is it|this a good|bad idea,
		is it|this|that legal|illegal|worth|cheaper|true|normal|healthy|dangerous|common,
		is it safe to eat|drink|take|fly|travel|swim, pros and cons, for and against,
		alternative|alternatives to, substitute for, instead of buying, state of the art,
		open source projects|project|alternatives|libraries,
		other projects|companies|teams|people|languages|countries, in the industry, market share, look up,
		find out, search the web|internet|for, on the web|internet, google,
		known vulnerabilities|security|cve|issues with, cve, security problems|issues|advisories, peer reviewed,
		according to scientists|research|studies|experts|economists|historians,
		what do|are|does experts|critics|scientists|people|economists|studies|researchers,
		has|have anyone|anybody|someone benchmarked|tried|compared|studied|measured|proved|tested|found,
		have scientists|researchers, has science, does anyone|anybody still|use|really,
		latest paper|research|study|news, overkill, over the last|past, at the moment, these days, right now $,
		what year, which year, which country|countries|city|state,
		how many people|countries|calories|species|users|languages,
		how much does|did|do|is|are|money|water|protein|sleep, how long does it take,
		how long can|do|did|should, how far is|from|away, how old is the,
		who invented|discovered|won|founded|painted|was, when did|was|is the, how did the, why did the,
		best time|place|season to|for, history of, cause of, causes of, effects of, side effect|effects,
		difference|differences between a|an`},
	// Tools and methods of others.
	{Points{Research: 5}, `
		^ how|why|when does|do|did|is|are {tech}, what is {tech}, ^ does|do|can|will|has|did {tech},
		^ is|are {tech} a|an|still|ready|overkill|good|worth|faster|better,
		^ is|are {tech} dead|really|too|safe|secure|considered|free|suitable|dying,
		which|what ... library|framework|language is|are|do|does|has|have|for|to|should|would|pays,
		which|what ... languages|tool|tools|distro is|are|do|does|has|have|for|to|should|would|pays,
		which|what ... distribution|provider|service|editor is|are|do|does|has|have|for|to|should|would|pays,
		which|what ... algorithm|protocol|license|licence is|are|do|does|has|have|for|to|should|would|pays,
		most common|popular|widely|people|companies|teams|used, widely used, in practice, in general, generally,
		typically, typical, actively|still maintained, production ready, ready for, mature, adoption, gpl,
		faster|slower|better|safer|cheaper|easier|harder|worse|more|less than,
		considered secure|harmful|safe|best, harmful, trade offs, industry standard`},
	// Evidence and judgement.
	{Points{Research: 4}, `
		evidence, study, paper, literature, research, statistics, survey, meta analysis, scientific, science,
		expert, benchmark, benchmarked, trend, forecast, news, opinion on, review of, comparison, compare,
		compared, comparing, better, best, worse, worst, cheapest, cheaper, cheap, fastest, safest, popular,
		popularity, reliable, accurate, overrated, recommend, worth, risk, risky, proof, proven, myth`},
	// Law and work.
	{Points{Research: 4}, `
		legal, legally, illegal, law, lawsuit, lawyer, court, liable, liability, contract, copyright, patent,
		trademark, gdpr, regulation, landlord, tenant, rent, sublet, deposit, lease, insurance, warranty, visa,
		passport, citizen, citizenship, immigration, employer, employee, salary, wage, pension, retirement,
		divorce, inheritance tax|law, inherited, fraud, statute, customs, refund, judge, notary`},
	// Money.
	{Points{Research: 4}, `
		mortgage, tax, taxes, taxed, taxable, deduct, deductible, income, dividend, portfolio, stock, shares,
		bond, etf, fund, invest, investing, investment, investor, inflation, interest rate, exchange rate,
		currency, yen, euro, dollar, pound, franc, price, cost, silver, gold, platinum, bitcoin, crypto,
		ethereum, market, economy, gdp, recession, bank, loan, debt, savings, expense ratio, fee, hedge,
		volatility, sharpe, budget deficit, capital gains, profit, assets, allocation, diversified,
		diversification, stock broker, house price, treasury, oil price, lithium, tariff`},
	// Health.
	{Points{Research: 4}, `
		health, healthy, healthier, doctor, disease, cancer, diabetes, vaccine, covid, flu, virus, infection,
		bacterium, bacteria, antibiotic, blood, heart, brain, muscle, knee, skin, sleep, diet, vitamin, protein,
		calorie, caffeine, alcohol, drug, medicine, medication, ibuprofen, aspirin, paracetamol, dose, dosage,
		symptom, pain, headache, allergy, pregnant, pregnancy, exercise, weight loss, cholesterol, therapy,
		surgery, dentist, teeth, hospital, nurse, patient, cure, meditation, fasting, mental health`},
	// Food and the home.
	{Points{Research: 4}, `
		food, eat, cook, cooking, bake, baking, recipe, bread, sourdough, rice, pasta, egg, chicken, beef, fish,
		salmon, lamb, meat, cheese, milk, butter, buttermilk, pancakes, oil, salt, sugar, flour, yeast, garlic,
		onion, tomato, potato, soup, wine, beer, tea, chocolate, oven, freezer, fridge, vegetarian, vegan,
		spice, turmeric, cast iron, apartment, kitchen, furniture, renovation, stain, carpet, washing, clothes,
		fabric, paint, garden, home insurance, heat pump, boiler, mattress`},
	// Travel and places.
	{Points{Research: 4}, `
		travel, trip, flight, fly, train, hotel, airport, airline, visit, tourist, tourism, museum, beach,
		hiking, hike, season, weather, climate, rainfall, city, country, island, river, lake, mountain, ocean,
		sea, desert, border, capital of, population, national park, drone, ferry, jet lag, luggage, itinerary,
		car, bike, bicycle, driving licence|license, public transport`},
	// History, politics and society.
	{Points{Research: 4}, `
		war, empire, emperor, queen, century, ancient, medieval, revolution, president, election, parliament,
		treaty, church, dynasty, league, colony, roman, viking, historian, historical, wealth, government,
		politics, constitution, senate, congress, school, university, college, degree, teacher, student,
		children, child, kids, baby, women, men, religion, speak, speakers, mother tongue, author, poet, film,
		movie, album, song, music, painting, artist, football, soccer, tennis, olympics, chess, world cup,
		marathon, wedding`},
	// Nature and technology.
	{Points{Research: 4}, `
		planet, sky, moon, mars, sun, stars, galaxy, universe, black hole, gravity, speed of light, light year,
		quantum, physics, chemistry, biology, atom, electron, molecule, gene, genetic, dna, crispr, evolution,
		species, animal, dog, cat, bird, whale, bee, insect, trees, plant, leaves, soil, water, ice, volcano,
		earthquake, hurricane, drought, dinosaur, fossil, microplastics, half life, electricity, energy,
		nuclear, solar, wind, battery, electric, emissions, carbon, kwh, boiling point, melting point`},
	// Anywhere in the world.
	{Points{Research: 2}, `
		<proper>, how far, how old, which is, which are, recommend, average, percentage, percent, rate, year,
		month, world, worldwide, global, current, currently, nowadays, latest, popular, people, country, europe,
		european, germany, german, france, french, spain, italy, ireland, irish, britain, british, uk, usa,
		american, america, canada, mexico, brazil, argentina, chile, china, chinese, japan, japanese, india,
		indian, vietnam, thailand, indonesia, australia, africa, egypt, kenya, russia, russian, ukraine, poland,
		denmark, sweden, norway, finland, iceland, netherlands, dutch, belgium, switzerland, swiss, austria,
		portugal, greece, turkey, israel, asia, paris, london, berlin, tokyo, new york, rome, madrid, lisbon,
		vienna, chicago, california, texas, arguments for|against, cheaper, more than, less than, differ,
		normal, interact, company, companies, industry, business, job market, startup, web development, weights,
		license|licence do|should|for`},
	{Points{Research: 1}, `
		how much, how many, how long, how often, who, when, whether, difference, need, matter, really, small,
		large, good, bad, safe, most, models, today, my, {tech}`},
}
