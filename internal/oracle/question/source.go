package question

var sourceEndings = set(`
	go py pyi rs js mjs cjs ts tsx jsx java kt kts c h cc cpp cxx hpp hh cs fs rb php swift m mm scala hs lhs ml
	mli ex exs erl hrl lua sh bash zsh fish ps1 bat sql zig nim dart clj cljs lisp el scm vue svelte proto css
	scss sass less html htm xml yml yaml toml json ini cfg conf env tf hcl gradle mk cmake asm s wat wasm so dll
	jar whl r jl pl pm groovy v vhdl sv ipynb lock log diff patch graphql csproj sln mod sum service plist`)

var sourceNames = set(`
	makefile dockerfile cmakelists.txt jenkinsfile vagrantfile gemfile rakefile procfile .gitignore .env .bashrc
	.gitattributes .editorconfig requirements.txt package.json`)

// pairs are words with a stroke between them that are no path.
var pairs = set(`
	and/or he/she his/her him/her s/he tcp/ip read/write client/server yes/no true/false on/off input/output
	pros/cons either/or win/lose pass/fail start/stop usd/eur eur/usd day/night male/female before/after
	linux/unix`)

// brands are written with a hump or a dot, as names in source are, and are none.
var brands = set(`
	github gitlab bitbucket javascript typescript openssl openssh postgresql mysql sqlite mariadb mongodb duckdb
	cockroachdb influxdb dynamodb scylladb clickhouse youtube linkedin paypal macbook macos ios ipados iphone
	ipad imac icloud itunes watchos devops mlops whatsapp tiktok openai chatgpt fastapi graphql numpy scipy
	pytorch tensorflow webassembly latex freebsd openbsd netbsd libreoffice openoffice rabbitmq coffeescript
	wordpress jquery vscode neovim intellij pycharm webstorm bittorrent ebay playstation powerpoint onedrive
	sharepoint phd covid dna rna mrna usa etf etfs ph kwh kw mb gb tb khz mhz ghz iot next.js node.js vue.js
	nuxt.js express.js three.js d3.js react.js nodejs e.g i.e a.m p.m u.s u.k openstreetmap wikipedia deepmind
	deepseek huggingface langchain llama.cpp vllm openrouter opentelemetry circleci cloudflare digitalocean
	openstack openshift oauth oauth2 websocket websockets saas paas iaas nosql adrs apis prs urls faqs rfcs cves`)

// statements are orders to a machine, when in capitals.
var statements = set(`
	GET POST PUT PATCH DELETE HEAD OPTIONS SELECT INSERT UPDATE CREATE DROP ALTER GRANT JOIN WHERE FROM`)

// marks are pieces of source and of error texts that no prose has.
var marks = []string{
	"==", "!=", ":=", "=>", "->", "::", "&&", "||", "+=", "-=", "++", "!!", "</", "/>", "[]", "{}", "();", ");", "`", "<=", ">=", "(?:", `\d`, `\w`, `\.`, "]+", "0x", "${", "#include", "&str", "*self",
	"error:", "Error:", "panic:", "fatal:", "exception:", "Exception:", "warning:", "(cost=",
}

// worked are what a program does to its data.
var worked = set(`
	defined declared implemented handled called invoked set read parsed created initialised initialized
	registered stored computed calculated validated checked used imported thrown raised logged written generated
	loaded opened closed sent added cached compared converted encoded decoded hashed sanitised sanitized escaped
	caught freed allocated instantiated evaluated chosen rounded sorted filtered dropped retried queued
	scheduled dispatched triggered fetched saved persisted updated deleted removed inserted serialised
	serialized deserialised deserialized encrypted decrypted signed verified compressed merged overridden
	overwritten exported exposed injected wired rendered mapped matched resolved routed redirected normalised
	normalized truncated padded trimmed split joined counted incremented decremented locked unlocked
	synchronised synchronized swallowed ignored skipped propagated returned wrapped mocked tested covered
	executed measured started stopped spawned killed cleaned refreshed invalidated evicted expired assigned
	populated represented authenticated authorised authorized enforced limited throttled batched streamed
	buffered flushed polled built compiled linked bundled`)

// aboutSource is about source code and what it does.
var aboutSource = []line{
	// Source and error texts that the asker has at hand.
	{Points{Code: 6}, `
		<source>, <name>, segfault, segmentation fault, stack trace, stacktrace, backtrace, traceback,
		core dump, undefined reference|behaviour|behavior|symbol|variable|method, null|nil|dangling pointer,
		borrow checker, type checker, syntax error, compile|compiler|runtime|type|linker|import|build error,
		exit code|status, index out of, out of memory|bounds, stack overflow,
		can not find module|symbol|package|name|import, can not read|resolve|open|borrow|import|assign|convert,
		permission denied, no such file, connection refused|reset, line <number>, error <number>, not defined,
		no module named, expected ... found|got|before|but, race condition, data race, deadlock, memory leak,
		merge conflict, assertion failed|error,
		unhandled|uncaught|unexpected exception|error|rejection|token|promise, infinite loop,
		loops|hangs forever, off by one, must be unwrapped, does not compile, will not compile,
		in our|the|this code|repo|codebase|source|repository, the source code, source code,
		this function|method|class|code|snippet|regex|query|loop|struct|line`},
	// The parts of programs.
	{Points{Code: 4}, `
		function, method, struct, variable, constant, enum, loop, regex, regexp, regular expression, goroutine,
		mutex, lock, coroutine, closure, lambda, decorator, metaclass, macro, pointer, array, hashmap, dict,
		tuple, boolean, null, nil, int, integer, float, recursion, recursive, iterator, generics, typedef,
		template, namespace, subclass, superclass, constructor, destructor, getter, setter, callback, async,
		await, semaphore, thread, stdin, stdout, stderr, socket, singleton, interface, trait, mixin, monad,
		functor, combinator, channel, event loop, state machine, entry point, call graph|site|stack,
		return value|type, global variable|state, side effect in`},
	{Points{Code: 4}, `
		parser, lexer, tokenizer, tokeniser, serializer, serialiser, deserializer, handler, middleware, router,
		controller, dispatcher, scheduler, allocator, compiler, interpreter, linker, loader, importer, exporter,
		mailer, validator, renderer, resolver, listener, decoder, encoder, formatter, generator, wrapper,
		adapter, iterator, garbage collector, connection|thread|worker pool, background thread|job|task|worker,
		front end, frontend, back end, backend, codebase, code, snippet, implementation, signature, parameter,
		argument, unit|integration|flaky|failing|regression test, test suite|case|file|coverage|fixture,
		fixture, mock, stub, fsync, heap, buffer, byte, shared object|library, opcode, ast, syscall, binary`},
	{Points{Code: 4}, `
		crash, crashes, crashed, panic, exception, throws|thrown, bug, hash, hashed, imports, imported, defined,
		declared, implemented, initialised, initialized, instantiated, invoked, overridden, hardcoded,
		hard coded, magic number, sql, css, html, endpoint, route, column, foreign key, unsafe, mutable,
		immutable, time complexity, big o, git blame, commit, diff, class, inherit, usages, caller, debugger,
		breakpoint, stack, query|queries, joins, system clock, leak|leaks, swallow, borrow, dereference,
		allocate|allocates, mutate|mutates, iterate|iterates, docker image, constant time, compile|compiles,
		lines of code, loc, todo|todos, dead code, spaghetti, refactored`},
	// How one asks about them.
	{Points{Code: 4}, `
		^ where do|does|did we|our|the|it, where in the,
		^ which file|function|class|method|module|line|package|commit|test|part,
		^ which place|thread|struct|query|queries|component|goroutine|code|table|branch, which of our|the,
		in which file|commit|function|package|class|module|line|place|table, every place, the place where,
		places where, all places|usages|callers|uses,
		where|why is|are|was|were|do|does|gets|get ... {worked}|{done}, how is|are|gets|get ... {worked},
		when is|are ... {worked}, ^ is|are ... {worked}, ^ does {doing}, what|which gets|get {worked}|{done},
		what exactly, wonder where|how|why, where would|should i add|change|put|hook|start|set,
		what does the|this|that ... do, what does <name>|<source>|<path>,
		what happens if|when|between|after|before,
		what calls|uses|triggers|sets|breaks|reads|writes|closes|causes|keeps|prevents|stops,
		who calls|uses|closes|owns|frees|sets|writes|reads, what would break|happen|change, walk me through,
		what is the type|point|purpose|value|default|signature|return|size|length|maximum|limit|name of`},
	{Points{Code: 4}, `
		why does|do|did|is|are|was ... fail|failing|fails|failed|crash|hang,
		why does|do|did|is|are|was ... hanging|return|returns|throw|panic|slow|nil,
		why does|do|did|is|are|was ... null|undefined|empty|twice|not|break|block,
		why does|do|did|is|are|was ... reject|complain|two|different|send|wait|sleep,
		how is|are|does|do the|our|this|we|it|my ... handle|decide|parse|compute|store|load|work,
		how is|are|does|do the|our|this|we|it|my ... find|know|detect|interact,
		how is|are|does|do the|our|this|we|it|my ... talk|communicate|generate|validate, how come,
		since yesterday, since the last, since this|merging|upgrading, after the last,
		after merging|upgrading|updating, after a restart, any idea why|what,
		fails|failed|failing on|with|in|when|at|after, breaks with|on|when|in|if, crashes with|on|when|in|if,
		complains|complaining, does not work|start|terminate|return|build|load|show|respond|match,
		will not start|build|load, stopped working, ^ i get|got|keep|see getting|a|an|the|this|error|<name>,
		i suspect, is there a race|bug|leak|test|reason|place|function|check|lock,
		are there any tests|usages|callers|places|checks, is it safe to call|use|share|remove|delete,
		pass locally, works locally|on, on my machine`},
	{Points{Code: 3}, `
		<proper> model|class|table|type|object|struct|interface|service|module|component|field,
		<proper> trait|enum|method|function|handler|controller,
		<proper> repository|constructor|widget|package|macro|client,
		^ why is|does|do|are the|our|there|it|we|this|my, ^ how does|is|do|are the|our|it|we|this,
		^ does|do|is|are|will|would the|our|this|that, ^ does|will|would it, ^ what does the|our|this|it,
		where does|do|is|are the|our|it|this, where|how|why|which|whether|if the|our|we|it|this,
		which package|module|file|function|class|table|process|service|thread|test|commit|line,
		what will|would|does happen, the line that|where|which,
		in the queue|loop|handler|parser|worker|cache|database|browser`},
	{Points{Code: 2}, `
		fail, failing, failed, error, warning, hang, returns, debug, type, value, string, field, file,
		directory, folder, input, output, here, script, path, exactly, anywhere, still, <path>, page, ms, key,
		object, element, prefix, header, counter, total, locale, timestamp, status, event, message, instance,
		row, table, state, order|ordering, screen, button, form, console, browser, latency, performance, slow,
		slower, cpu, memory, empty, twice, duplicate, missing, wrong|incorrect, restart, startup, shutdown,
		timer, lookup, sort, check|checks, limit, merge, plan, schema, json, yaml, xml, utf, unicode, encoding,
		algorithm, logic, test`},
	// Words of other trades that sound like source.
	{Points{Code: -6}, `
		postal|zip|post|area|dress|tax|building|penal|civil code,
		criminal|discount|promo|coupon|voucher|qr|bar|genetic|morse|country code,
		dialling|dialing|dial|sort|swift|highway|labour|labor|honour code,
		honor|moral|gift|airport|bank|napoleonic|error|party|cheat|vinci code, code of, code review,
		blood|covid|driving|pregnancy|allergy|eye|hearing|iq|dna|drug|stress|crash|fitness|antigen|pcr test,
		lab|turing|taste|litmus|medical|screening|driver|theory test,
		language|citizenship|personality|skin|urine|genetic|negative|positive test,
		asset|business|first|economy|working|middle|yoga|cooking|evening|dance|social class,
		kidney|liver|brain|heart|thyroid|cognitive function, stomach|june|bed bug,
		scientific|teaching|cooking|research|socratic method, muscle|working|childhood|human memory,
		stock|power|exchange|commodity|commodities index, party|birthday|wedding|dining table,
		interest|birth|growth|exchange|mortality|unemployment rate`},
	// A document that is made by a program is about the program.
	{Points{Documentation: -14, Code: 4}, `
		documentation|doc|readme|changelog|manual generator|generation|builder|build|parser|script,
		documentation|doc|readme|changelog|manual linter|loader|importer|job|pipeline|badge|index,
		manual test|testing|step|override|trigger|mode,
		builds|generates|renders the|our|this documentation|doc|readme|changelog|manual,
		parses|compiles|publishes the|our|this documentation|doc|readme|changelog|manual`},
}
