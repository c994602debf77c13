package question

// documentNames are files of prose by their names without ending, in lower case.
var documentNames = set(`
	readme changelog changes contributing license licence copying spec faq install authors security roadmap
	glossary history news codeofconduct code_of_conduct support upgrading governance maintainers todo notes adr`)

var documentEndings = set(`md mdx markdown rst adoc asciidoc txt pdf tex docx odt org wiki man epub`)

// aboutDocuments is about what the project's documents say, and about what one
// does with the project, which is in them.
var aboutDocuments = []line{
	{Points{Documentation: 14}, `
		<document>, where does|do it|they|we say, readme, changelog, doc, documentation, documented,
		undocumented, manual, handbook, wiki, tutorial, faq, runbook, playbook, cookbook, quickstart, glossary,
		roadmap, adr, rfc, javadoc, godoc, docstring, datasheet, guide, guideline, howto, walkthrough,
		whitepaper, white paper, postmortem, post mortem, minutes, spec, specification, cheat sheet,
		knowledge base, written down, man page, code of conduct, getting started,
		design doc|document|note|decision, release|meeting|qa|upgrade|field note, the notes, our notes,
		api|the|command|language|cli|config|configuration reference, reference manual,
		troubleshooting section|page|guide, onboarding document|doc|guide|page|material,
		usage|sample|code example, example|sample config|configuration|file, test plan, architecture decision,
		decision record, help page|text|output, reference page|section, note|notes on|about|from|for, memo,
		swagger, openapi, confluence, notion page, google doc, slide deck, presentation, announcement,
		blog post, newsletter, documentaion, documention, docu, manpage,
		file|page|doc|document|section|chapter|paragraph that|which explains|describes|documents,
		which|what file|page|doc|section|document explains|describes|documents|tells|says, proposal,
		contributing guide, terms of service, keyboard shortcut, definition of done`},
	{Points{Documentation: 4}, `
		privacy|retention|security|support|backup policy|strategy|model,
		branching|versioning|deprecation|comment|review|release policy|strategy|model,
		what is the|our process|procedure|workflow|policy|convention|rule for|on|of|to|about|when|if|in,
		do i|we|you need ... to run|build|use|work|contribute|install|develop,
		do|must|should i|we need|have to sign|install|register|pay|build|run,
		behaviour|behavior of ... specified|documented|defined,
		arguments|flags|options|formats|values|parameters does ... accept|take|support|allow|understand,
		say|says|said about|anything|something|on|that, mention|mentions, paragraph, chapter, section, appendix,
		document, cover|covers|covered what|how|in|by, supported, policy, guidelines, checklist, overview,
		diagram, known limitations|issues, limitations listed|of|in, definition, meaning of,
		syntax|format of|for the|a|our, terminology, procedure, prerequisite, instructions,
		steps to|for|of|needed, system|hardware|minimum|software requirements,
		requirements for running|installing|using, per the,
		where can|could|do|should|would i|we|one read|find|learn|look|see|start|get|download, point me,
		recommended|preferred|official|correct|proper way|method|procedure|process|workflow|setup,
		right|intended|standard|suggested|easiest way|method|procedure|process|workflow|setup,
		naming|coding convention|standard|style, convention, what is new, breaking change,
		upgrade|migration path, get|getting started, first steps, release process|schedule|cycle|cadence, sla,
		on call, commit messages, sign a|the cla, cla, license, licence, description, stand|stands for in,
		mean|means|meant in|by, the term|word|phrase, who do|should i ask|contact|talk|email,
		which|what option|flag|setting|parameter|port|command|format|shortcut do|does|are|can|is|have|take,
		which|what feature|platform|browser|database do|does|are|can|is|have|take,
		which|what version|permission|plugin|language do|does|are|can|is|have|take,
		which|what environment variable, which|what file format|type, environment variables can|are|does,
		options|flags|arguments|formats|commands does|do|are|can, is it possible to configure|use|run,
		decided|decision|agreed|agreement to|about|on|in, have we recorded|written|decided|agreed`},
	{Points{Documentation: 8}, `
		according to, described, explained, mentioned, recorded, specified, mandated, prescribe, prescribed,
		listed, stated, spelled out, explains, describes, mentions, claims, states, promises, specifies,
		mandates, written up, outlined, laid down, set out, published`},
	{Points{Documentation: 9}, `
		how do|can|could|would|should|might|must i|we|you|one|someone|user {setup},
		how do|can|could|would|should|might|must users|contributor|contributors {setup},
		how do|can|could|would|should|might|must people|customers|developers|admins {setup}, how to {setup},
		how does one|someone|a {setup}, how do|can|could|would|should i|we|you|one opt|roll|back|sign,
		way|ways to {setup}, steps ... {setup}, go about {doing}, possible to {setup},
		can|could|may i|one|you|we|users {setup}, do i have to {setup},
		do|does|must|should|can|need i|we|one need to {setup}, can it|this|that|they be {done},
		can the ... be {done}, supposed to {do}|do|use|go, what do|must|should i|we have|need to do, is support,
		supported until, support ... guaranteed|until, what is the official, before my|your first,
		we support|supports, refer|refers to in, template for, as per, per our|the,
		how do|does|can i|one|you|we become,
		where|how do|can|should|must|would i put|change|see|enter|store|place,
		where|how do|can|should|must|would i specify|upload|apply|try|view|access,
		what must|should|does a|an|every|each ... contain|include|look, to be accepted|merged|approved,
		should the|we|i|it ... be {done}, in what|which order should, what does the license|licence,
		how do|can|would|should i|we get|obtain|request|access|apply a|an|the|access|for`},
	// What one may ask of any program, and its documents answer.
	{Points{Documentation: 8}, `
		what does the|this|that _ setting|option|flag|command|subcommand|parameter|switch|button do,
		what does the setting|option|flag|command|subcommand|parameter|switch,
		is there a|an|any way|option|flag|setting|command to|for|that|of|in,
		is there a|an|any example|parameter|switch|shortcut|limit to|for|that|of|in,
		does it|this|that|the ... support, do we|you support,
		what are the limits|requirements|rules|defaults|valid|allowed,
		what are the supported|available|mandatory|required|minimum|maximum, what do we mean|call,
		who approves|reviews|decides, who is responsible for|in,
		which|what version|release was|did|introduced|added|removed|dropped, since which|what version|release,
		what changed|changes in|with|since <number>|version|release|the, planned for|in, next release|version,
		am i|are allowed|we to|allowed, allowed to use|add|change|commit|merge|push, values can|may|does,
		why did|do we choose|chose|pick|decide|drop|reject|adopt|move|switch, why do|did we use|prefer {tech},
		why was|were ... chosen|picked|rejected|adopted|dropped|preferred, rationale, motivation behind|for,
		reason|reasons for choosing|picking|dropping|the decision, acronym|abbreviation, mailing list,
		office hours, support channel, service level, in this project|team|repo mean, call it in`},
	{Points{Documentation: 6}, `
		which|what command|commands, default port|timeout|password|settings|config|branch|location|directory,
		default user|theme|language|behaviour|behavior|shell|editor|credentials, ^ can|could ... be {done},
		how|where should|must|shall ... be {done}|{worked}|named|structured|written,
		what should|must|do i do|run|use|install|read|know|check,
		does|will it|this|the ... work|run|build on|with|behind|under|without|offline,
		example|sample for|of|in|how|on, guarantee, guaranteed, backward|backwards compatible|compatibility,
		deprecation, stated|agreed|promised, under which|what license|licence, inline help, usage text`},
	{Points{Documentation: 5}, `
		<flag>`},
	{Points{Documentation: 2}, `
		how do|can|could|would|should i|we|you|one, how to, is there a|an|any|some|something,
		are there any|instructions, where is|are the, where is, do we have, have we, which section, tell users,
		users to, what are the, what is our, page, option, setting, install, installation, setup, upgrade,
		usage, feature, example, architecture, term, syntax, format, requirement, step, completion, support,
		version, <number>, expected, allowed, allow, should, rule, default, contributors, maintainers,
		reviewers, approval, process, decision, decided, new here, newcomer, newbie, first day, for beginners,
		behind a|nginx, on windows|linux|macos|mac|docker|arm|kubernetes, without root|docker|internet|admin,
		at boot, offline, self hosted, quote, cite`},
}
