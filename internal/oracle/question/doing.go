package question

import "strings"

// verbs ask, as orders, that something be done, made or changed.
var verbs = set(`
	abort accept activate adapt add adjust align allow amend animate annotate announce append apply approve
	archive arrange assign attach audit automate back backport backup ban begin benchmark bisect block bold book
	bookmark boost bootstrap brainstorm branch break bring build bump bundle buy call cancel capitalise
	capitalize center centre change checkout cherry chmod choose chown clamp clean cleanup clear click clone
	close collapse collect color colour combine comment commit compile complete compose compress configure
	congratulate connect convert copy copyedit correct cp create crop cut deactivate decrease dedupe deduplicate
	define delegate delete deploy deprecate design detach develop dim disable disconnect dismiss distribute
	divide dockerize document double downgrade download draft draw drop dump duplicate edit elect email embed
	enable encrypt enforce engage enlarge ensure enter erase escalate exclude execute expand export expose
	extend extract factor fax fetch file fill filter finish fix flatten flip fold force fork format forward free
	freeze generate get grant group grow gzip halve handle harden hide highlight hire hoist hook host ignore
	implement import improve include increase increment indent inform initialise initialize inline insert
	install instrument integrate introduce invent invert invite invoke italicise join keep kill label launch lay
	leave lift limit link lint load localise localize lock log loosen lower mail make map mark mask measure
	memoize merge message migrate minify mirror mkdir mock modernise modernize modify monitor mount move mute mv
	nest normalise normalize notify nudge nuke obfuscate observe offer omit open optimise optimize order
	organise organize overwrite pack package paginate paint parallelise parallelize parameterise parameterize
	park paste patch pause pay perform persist phone pick pin ping place plan play plot polish poll populate
	port post prefix prepare prepend preserve press prettify print prioritise prioritize proceed produce profile
	promote proofread propose protect prototype provide provision prune publish pull purge push put queue quit
	raise rank rearrange reassign rebase reboot rebrand rebuild recompile reconnect record recover recreate
	redact redeploy redesign redirect redo reduce refactor reformat refresh regenerate register reindent reindex
	reinstall reject relabel release reload relocate remind remove rename render renew reorder reorganise
	reorganize repair rephrase replace replay reply repoint report reproduce request rerun rescale reschedule
	reserve reset resize resolve restart restore restrict restructure resume retag retarget retire retry return
	reuse revert review revise revoke reword rewrite ring rm roll rollback rotate round run sanitise sanitize
	save scaffold scale scan schedule scrape scrub seed select sell send separate serialise serialize serve set
	setup shard share shift shorten shrink shut sign silence simplify simulate sketch skip slice snapshot snooze
	solve sort speed spellcheck spin split squash stabilise stabilize stage standardise standardize start stash
	stop store stream streamline strip stub style submit subscribe substitute subtract suppress surround swap
	switch symlink sync synchronise synchronize tag take tar test text throttle throw tidy tighten toggle touch
	track train transcribe transfer transform translate transpile trash trigger trim truncate try tune turn
	tweak tweet type unarchive unassign unblock uncomment underline undo unify uninstall unlock unmount unmute
	unpack unpin unsubscribe untangle unwrap unzip update upgrade upload upvote use vacuum validate vendor
	version vote wake warm warn watch water welcome whitelist wipe wire withdraw wrap write yank zip`)

// tellingVerbs ask, as orders, only to be told something.
var tellingVerbs = set(`
	tell explain show trace find compare summarise summarize describe list name define give outline walk point
	look search locate identify check analyse analyze calculate compute estimate evaluate assess count recommend
	suggest clarify illustrate quote recap collect gather remind guide help teach enlighten discuss contrast
	examine investigate research enumerate break interpret read figure see state say inspect verify`)

// setupVerbs are what one does with a project by its documents.
var setupVerbs = set(`
	install uninstall reinstall configure reconfigure enable disable activate deactivate upgrade downgrade
	update migrate deploy compile build run debug contribute authenticate login log reset import export submit
	report file use set setup turn start stop restart connect integrate customise customize extend rotate
	generate add create write register subscribe backup restore host launch test lint format release publish
	sign invoke call pass specify override change switch monitor secure scale tune embed invite revoke bootstrap
	provision mount bind silence suppress tag cut ship review merge label onboard escalate document backport
	triage approve`)

// irregular are participles that do not end in -ed.
var irregular = map[string]string{
	"break": "broken", "bring": "brought", "build": "built", "buy": "bought", "choose": "chosen", "cut": "cut", "do": "done", "draw": "drawn",
	"freeze": "frozen", "get": "gotten", "give": "given", "hide": "hidden", "leave": "left", "make": "made", "pay": "paid", "put": "put",
	"rebuild": "rebuilt", "redo": "redone", "reset": "reset", "rewrite": "rewritten", "run": "run", "sell": "sold", "send": "sent", "set": "set",
	"shrink": "shrunk", "shut": "shut", "speed": "sped", "spin": "spun", "split": "split", "take": "taken", "undo": "undone", "withdraw": "withdrawn", "write": "written",
}

// gerunds returns the forms in -ing that a verb may have.
func gerunds(verb string) []string {
	last := verb[len(verb)-1:]
	return []string{verb + "ing", verb + last + "ing", strings.TrimSuffix(verb, "e") + "ing"}
}

// participles returns the forms of the past that a verb may have.
func participles(verb string) []string {
	if s, ok := irregular[verb]; ok {
		return []string{s}
	}
	last := verb[len(verb)-1:]
	return []string{verb + "ed", verb + last + "ed", strings.TrimSuffix(verb, "e") + "ed", strings.TrimSuffix(verb, "y") + "ied"}
}

// inflected returns the forms of all verbs.
func inflected(verbs map[string]bool, forms func(string) []string) map[string]bool {
	all := map[string]bool{}
	for v := range verbs {
		for _, f := range forms(v) {
			all[f] = true
		}
	}
	return all
}

// aboutDoing asks that something be done.
var aboutDoing = []line{
	{Points{Action: pointsDo}, `
		^ {do}, ^ ship it, ^ go through|back|over|ahead|to, ^ do it|that|this|so|a|an,
		^ do the same|rest|following|other|thing, ^ tell <proper>,
		^ answer the|all|his|her|their|this|these|it|issue, ^ ask <proper>|the|him|her|them|everyone,
		^ thank <proper>, ^ respond|reply to, ^ let the|it|them|him|her|<proper>|everyone|<name>|<source>,
		^ continue with|the, ^ carry out, ^ come up with, ^ point the|it|dns ... to|at, ^ time to {do},
		would be nice|good|great|handy|helpful|useful|lovely $,
		appreciate|grateful|thankful|happy|glad|love ... if you|someone {do}|{done}|could|would|can,
		appreciate you {doing}, ^ help me {do}, ^ could|can we|i have|get a|an|the|some,
		^ new branch|file|issue|ticket|test|page, ^ do not {do}, ^ check out|in,
		^ give <source>|<name>|<path>|it|the|this|that|them|each|every|all|him|her,
		^ tell the|him|her|them|everyone, ^ let us {do}|have|get, ^ would|do you|someone mind {doing},
		^ mind {doing}, ^ how about {doing}, ^ go ahead and {do}, ^ be so kind, ^ feel free to {do},
		why do not you {do},
		it would be|help ... nice|good|great|helpful|lovely|cool|better|useful|handy|best if,
		would be nice|good|great|handy|helpful|useful|lovely if|to, ^ make sure, ^ see to it, ^ get rid of,
		^ remember to {do}, ^ try to {do}, ^ do not forget to {do}, ^ be sure to {do}, do me a favour|favor,
		^ i want|need|expect|would ... you|someone to {do}, if you|someone could|can|would {do},
		would it be possible to {do}, possible for you|someone to {do}, any chance you|someone could|can {do},
		any chance of {doing}, hoping|wondering you|someone could {do},
		it would be|help ... if you|someone|we {do}|{done}, ^ {tell} and {do}, ^ check it|that|this|them in,
		^ {tell} ... and|then {do} it|them|the|a|an|this|that|these|those|all|each|every|everything,
		^ {tell} ... into <document>|<source>|<path>,
		^ {tell} ... into|as|to a|an file|csv|spreadsheet|document|note|table,
		^ {tell} ... into|as|to a|an pdf|json|issue|ticket|slide|page|wiki`},
	// A noun at the beginning is no order, and some verbs ask only to be told.
	{Points{Action: -pointsDo}, `
		^ {do} is|are|was|were|fails|failed|fail|failing|breaks,
		^ {do} broke|crashes|crashed|hangs|stops|says|said|does|did,
		^ {do} has|had|keeps|gives|returns|takes|looks|error|errors,
		^ {do} failure|failures|process|notes|requirements|of|vs|versus|or|between,
		^ import|return|merge|type|link|build error|errors|failure|conflict,
		^ import|return|merge|type|link|build conflicts|cycle|cycles|mismatch|value,
		^ load|sync|test|lock|format|start error|errors|failure|conflict|conflicts|cycle|cycles|mismatch|value,
		^ import|return|merge|type|link|build values|statement|string|order|ordering|loop|path|type|time|times,
		^ load|sync|test|lock|format|start values|statement|string|order|ordering|loop|path|type|time|times,
		^ run|log|cache|commit|release|map error|errors|failure|conflict|conflicts|cycle|cycles|mismatch|value,
		^ stack|store|set|update|change|file error|errors|failure|conflict,
		^ stack|store|set|update|change|file conflicts|cycle|cycles|mismatch|value,
		^ run|log|cache|commit|release|map values|statement|string|order|ordering|loop|path|type|time|times,
		^ stack|store|set|update|change|file values|statement|string|order|ordering|loop|path|type|time|times,
		^ import|return|merge|type|link|build size|count|assertion|inference|parameter,
		^ load|sync|test|lock|format|start size|count|assertion|inference|parameter,
		^ import|return|merge|type|link|build|load|sync|test|lock|format|start output|average|code|codes|hash,
		^ run|log|cache|commit|release|map size|count|assertion|inference|parameter,
		^ stack|store|set|update|change|file size|count|assertion|inference|parameter,
		^ run|log|cache|commit|release|map|stack|store|set|update|change|file output|average|code|codes|hash,
		^ import|return|merge|type|link|build message|messages|method|function|class,
		^ load|sync|test|lock|format|start message|messages|method|function|class,
		^ import|return|merge|type|link|build interface|descriptor|permission|permissions|name,
		^ load|sync|test|lock|format|start interface|descriptor|permission|permissions|name,
		^ run|log|cache|commit|release|map message|messages|method|function|class,
		^ stack|store|set|update|change|file message|messages|method|function|class,
		^ run|log|cache|commit|release|map interface|descriptor|permission|permissions|name,
		^ stack|store|set|update|change|file interface|descriptor|permission|permissions|name,
		^ {do} _ is|are|was|were|fails|breaks|crashes|hangs|says|does|returns|throws|gives|complains,
		^ remind me what|how|where|which|who|why, ^ remind me of what, ^ take a look|guess|peek,
		^ run me|through|by, ^ pull|bring up the|all, ^ go through|over ... and {tell}, ^ call me,
		^ type _ struct|interface|enum|class|alias|gives, ^ leave it $, ^ give|get me a|an|the|some|your|more,
		^ get well, ^ try me, ^ take care|it, ^ go on $, ^ break it down, ^ break down, ^ use case, ^ test test`},
	// Where the result goes: such an order is more than a remark on the talk.
	{Points{Action: pointsTalk - pointsDo + 12}, `
		^ {do} ... into|to|as|in|on|from <document>|<source>|<path>,
		^ {do} ... into|to|as|in|on a|an|the|our|my|this file|csv|spreadsheet|document|doc,
		^ {do} ... into|to|as|in|on a|an|the|our|my|this note|table|pdf|json|issue|ticket,
		^ {do} ... into|to|as|in|on a|an|the|our|my|this slide|page|wiki|readme|changelog,
		^ {do} ... into|to|as|in|on a|an|the|our|my|this repo|repository|branch|channel|calendar|folder,
		^ {do} ... on|in issue|ticket|pr <number>`},
	// Looking comes first, doing after it.
	{Points{Action: pointsDo}, `
		^ have|take a look ... and {do}, ^ look|check|see ... and {do}`},
	{Points{Action: 6}, `
		^ {setup} ... off|on|to, everywhere, right away, asap, immediately`},
}

// aboutWishing asks for the same without an order. In a question these words ask
// for something else: which files need to be changed?
var aboutWishing = []line{
	{Points{Action: pointsDo}, `
		^ you|we can|may|could|might {do} the|it|that|this|all|my|our, needs a|an|more|another,
		we|you should|must {do}, i think we should {do}, we|you need|have|ought to {do},
		^ i want|need|wish|have to {do}, ^ i would like|love to {do}|have|get,
		^ i want|need|would the|this|that|my|all|every|like|prefer ... to say|mention|have|be|show|use,
		^ i want|need|would the|this|that|my ... to look|contain|include|print|return|list,
		^ i want|need|would all|every|like|prefer ... to look|contain|include|print|return|list,
		^ i would like|love|prefer ... {done}, ^ i want|need ... {done}, it is time to {do}, your job|task is,
		need|needs|has|have|ought to be {done}, should|must be {done}, should be ... instead|everywhere|too,
		wants|needs|need {doing}, should say|have|show|mention|use|return|print|look|point|default|read,
		^ i|we need|want|require|would a|an|another|some|like|love script|bar|pie|line|short|small,
		^ i|we need|want|require|would a|an|another|some|like|love simple|nightly|daily|weekly|second|single,
		^ i|we need|want|require|would a|an|another|some|like|love proper|better|test|function|program|page,
		^ i|we need|want|require|would a|an|another|some|like|love table|list|chart,
		^ i|we need|want|require|would a|an|another|some|like|love report|file|summary|template,
		^ i|we need|want|require|would a|an|another|some|like|love draft|class|endpoint|button|plan|branch,
		^ i|we need|want|require|would a|an|another|some|like|love issue|ticket|pr|copy|backup|job|diagram,
		^ i|we need|want|require|would a|an|another|some|like|love migration|macro|query,
		^ i|we need|want|require|would a|an|another|some|like|love spreadsheet|email|letter,
		^ i|we need|want|require|would a|an|another|some|like|love reminder|wrapper|helper|method|new|a|an`},
}
