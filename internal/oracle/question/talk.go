package question

// Points that outweigh all that a question may be about.
const (
	pointsTalk = 60 // a remark on the talk itself
	pointsDo   = 40 // a request to do something
	pointsYou  = 24 // about the assistant
)

// greetings are words of courtesy. A clause of nothing else is no question.
var greetings = set(`
	hi hello hey hiya howdy yo greetings welcome morning afternoon evening night goodnight thanks thank thx
	thanx ty tysm cheers appreciated gracias danke merci ok okay okey k kk yes yeah yep yup yea ya aye no nope
	nah sure alright agreed exactly indeed correct absolutely definitely right fine good great cool nice neat
	sweet perfect awesome excellent amazing brilliant fantastic wonderful lovely super impressive fair wow whoa
	oops ouch phew yay hooray hurray bravo congratulations congrats kudos hmm hm hmmm mhm uh um ah aha oh huh eh
	meh ugh ha haha hahaha hehe lol lmao rofl xd sorry apologies pardon excuse bye goodbye ciao cya later
	farewell quick nevermind whatever anyway interesting understood noted gotcha roger done`)

// besideGreetings may stand beside greetings.
var besideGreetings = set(`
	there again everyone everybody all folks team friend buddy mate dude man bot assistant oracle sir so very
	much many lot lots a an the and of for to that this it you your me my too now one question questions thing
	help answer answers confusion trouble delay interruption bother patience late typo reply explanation work
	job point day time luck idea catch call oh well enough then that's as always before today tomorrow soon see`)

// openers may stand before a request in the same clause.
var openers = set(`
	hi hello hey hiya yo thanks thank thx ok okay yes yeah yep no nope sure alright right great cool nice
	perfect well oh ah hm hmm um uh sorry and but so then now or next first second finally lastly again btw
	anyway maybe perhaps since once there all everyone team dear computer bot assistant oracle`)

// wills and helpers open a request together: could you, will somebody.
var (
	wills   = set(`can could will would`)
	helpers = set(`you u someone somebody anyone anybody`)
)

// fillers say nothing, wherever they stand.
var fillers = set(`
	please pls plz kindly just also actually basically simply quickly really honestly literally`)

// contractions are those that their ending does not tell, and those that are
// written without an apostrophe.
var contractions = map[string][2]string{
	"what's": {"what", "is"}, "whats": {"what", "is"}, "where's": {"where", "is"}, "wheres": {"where", "is"},
	"who's": {"who", "is"}, "whos": {"who", "is"}, "how's": {"how", "is"}, "hows": {"how", "is"},
	"why's": {"why", "is"}, "when's": {"when", "is"}, "it's": {"it", "is"}, "that's": {"that", "is"}, "thats": {"that", "is"},
	"there's": {"there", "is"}, "theres": {"there", "is"}, "here's": {"here", "is"}, "he's": {"he", "is"}, "she's": {"she", "is"},
	"let's": {"let", "us"}, "lets": {"let", "us"}, "i'm": {"i", "am"}, "im": {"i", "am"}, "ive": {"i", "have"},
	"youre": {"you", "are"}, "dont": {"do", "not"}, "doesnt": {"does", "not"}, "didnt": {"did", "not"}, "isnt": {"is", "not"},
	"cant": {"can", "not"}, "can't": {"can", "not"}, "cannot": {"can", "not"}, "won't": {"will", "not"}, "wont": {"will", "not"},
	"gonna": {"going", "to"}, "wanna": {"want", "to"}, "gimme": {"give", "me"}, "lemme": {"let", "me"},
	"u": {"you"}, "ur": {"your"},
}

// aboutTalk is about the talk itself: what was said, and in which form.
var aboutTalk = []line{
	// What was said before.
	{Points{Conversational: pointsTalk}, `
		did|do you mean, did you say,
		you said|meant|told|misunderstood|mentioned|promised|suggested|answered|contradicted|replied,
		did i say|ask|tell|mean|offend|hear|understand, what i said|asked|meant|wanted,
		i asked|meant|said|misread|misunderstood|misspoke|mistyped,
		my last|previous|earlier|first|second|other|original question|questions|message|point|request|prompt,
		your last|first|second|third|previous|earlier|final|other|original answer|reply|response|point|message,
		your last|first|second|third sentence|suggestion|question|example|paragraph,
		your previous|earlier|final|other|original sentence|suggestion|question|example|paragraph,
		your answer|reply|response|conclusion|explanation|tone|wording,
		your spelling|point|argument|reasoning|suggestion|apology|joke, where were we,
		how did you come|know|get|arrive|find|figure|reach,
		why did you say|think|choose|pick|not|change|stop|answer, what makes|made you,
		are you sure|certain|kidding|joking|serious|positive|confident, we talked|discussed|spoke,
		did we talk|discuss|say|agree, talking past, keep a secret, speak|talk|chat _ with|to me,
		speak|talk|chat with|to me, change the subject|topic`},
	// Say it again, say it otherwise, and the small orders of a talk.
	{Points{Conversational: pointsTalk}, `
		say|explain|put|phrase|repeat|tell|read|try that|it|this|me again|differently|otherwise,
		say|explain|put|phrase|repeat|tell|read|try that|it|this|me simply|once|slowly, ^ say it|that|so|more,
		one more time, come again, try again $,
		^ repeat|rephrase|reword|elaborate|clarify|continue|wait|stop|listen|relax $,
		^ repeat|rephrase|reword|elaborate|clarify that|it|this|what|yourself|on|please,
		^ could|can|would you repeat|elaborate|clarify|slow,
		^ could|can|would you rephrase|reword|explain it|that|this|your|yourself|on,
		^ could|can|would you say|summarise|summarize|expand it|that|this|your|yourself|on,
		let me rephrase|think|see|try|ask|explain|guess|finish|sleep|digest, let me know when you|if you,
		^ hold|hang|go|carry|come|move on $, ^ hold|hang on, one|a moment|second|sec|minute $,
		back to my|the|our question|topic|point, never mind, let us talk|chat, talk about something|it|anything,
		something else $, let us go on|back|home, let us move on, let us call it a, let us take a, take a break,
		a break, let us leave it, let us continue $, forget it|that|about|what|i, ^ ignore that|me $,
		^ ignore what i|you, ^ ignore my last|previous|question|message, scratch that, got it, same question`},
	// The form of the reply.
	{Points{Conversational: pointsTalk}, `
		^ shorter|simpler|longer|slower,
		it|that|this|answer|answers|bit|little|much|even|sentences shorter|simpler|longer|slower|clearer $,
		^ keep going, can|could you answer|reply|talk|type,
		is|was that|this|it all|right|true|correct|it|enough|ok|okay|clear|everything|so $, make you,
		^ in other|simpler|plain|simple|fewer|your|layman words|terms|english|language|own, ^ in bullet|bullets,
		^ more|less concise|brief|briefly|formal|verbose|technical|polite|detail|details|specific $,
		can|could you be, ^ answer|reply|respond|talk|speak in|with|as|like|only|briefly|more|less|without,
		talk to me like, ^ keep your|it|them|that|answers|replies short|brief|simple|shorter|simpler|concise|to,
		^ make it|that|them shorter|simpler|brief|briefer|short|longer|funnier|clearer $,
		shorter|simpler|longer|clearer|better answer|explanation|version|reply $,
		keep|make|give your|shorter|longer|short|brief answers|answer|replies|responses,
		^ be more|less|brief|concise|honest|nice|kind|polite|quiet|quick|patient|serious|blunt,
		^ stop apologising|apologizing|talking|saying|being|it|that, ^ stop calling|asking|telling me,
		^ use bullet|bullets|emoji|emojis,
		^ use simple|simpler|plain|short|shorter words|language|english|sentences|terms|spelling|units|jargon,
		^ use fewer|british|american|metric|less words|language|english|sentences|terms|spelling|units|jargon,
		^ no|without|avoid|fewer emojis|emoji|jargon|bullet|bullets|markdown|headings|fluff,
		do not apologise|apologize|argue|lecture|worry|panic|bother|be|sugarcoat|guess, do not call|get me,
		do not use emojis|emoji|such|so|jargon|too|that|big|bullet|abbreviations|exclamation,
		answer|reply with yes|one|only, yes or no $`},
	// Orders that nobody is to carry out.
	{Points{Conversational: pointsTalk}, `
		^ take your time, ^ take it easy, ^ take care $, ^ give it a rest,
		^ give me a break|moment|second|sec|minute|hint|hand, ^ give it up, ^ leave me alone,
		^ leave it at|there, ^ make my day, ^ try harder|me, ^ do your best, ^ break a leg, ^ come on,
		^ get some|well rest|sleep|soon, ^ get out of here, ^ cut it out, ^ save it $, ^ hit me, ^ shut up,
		^ drop it $, ^ play nice, ^ go easy, ^ have fun, ^ have a nice|good|great|lovely|safe,
		^ guess what|who|again, ^ surprise me, ^ cheer up, ^ trust me, ^ believe me, ^ look who,
		^ let us see|pretend|hope|face|be|not|say, start over $, thumbs up, what is that supposed to mean,
		^ let us agree|pause, ^ let us stop|end|leave here|there|it, ^ let us wrap up,
		^ let us pick|do|finish|discuss|continue this|it|that up|later|tomorrow|again|another, ^ make yourself,
		^ get lost, ^ do not leave|forget me|us, ^ mind you|your, ^ suit yourself, ^ enjoy, ^ relax,
		^ calm down, ^ lighten up, ^ thank|bless you, ^ pretend, ^ imagine, ^ listen,
		^ say hi|hello|something|please|cheese, ^ keep it up, ^ keep up the, ^ stay, ^ sleep well`},
	// About the assistant, to the assistant.
	{Points{Conversational: pointsYou}, `
		you forgot|missed|skipped|wrote, who|what are you, who am i, who is there,
		who made|built|created|trained|wrote|programmed|developed|owns|pays you,
		which|what model|version|llm|ai|company|data are|is|made|powers you|this|behind,
		what kind|sort of ... are you, how are you|things|we, how is life|everything|it|your, how was your,
		how old|smart|good|clever|fast|big|accurate|intelligent are you,
		how do you do|feel|like|work|know|learn|remember|think|sleep|spend, what is up|new|cooking $,
		are you a|an|the|able|alive|real|conscious|sentient|human|there|still,
		are you ok|okay|happy|tired|ready|always|ever|free|bored|busy|listening|online,
		are you awake|based|trained|connected|allowed|sad|offended|angry|mad|any|self,
		are you smarter|better|available|on|one|using|good|open|really|chatgpt|claude|like, you able to,
		do you like|love|hate|enjoy|prefer|think|feel|remember|ever|dream,
		do you sleep|eat|believe|mind|speak|get|want|care|agree|learn,
		do you store|save|keep|follow|watch|listen|play|trust|understand|drink,
		do you cost|need|work|always|actually|sometimes|hear|see|live|take|read,
		do you have a|an|any|feelings|friends|time|access|memory,
		do you have opinions|emotions|hobbies|pets|siblings|fun|to|limits, do you know me|everything|any|jokes,
		do you know who i|you,
		what do you think|like|want|do|know|prefer|feel|dream|call|remember|enjoy|look|eat,
		can you hear|remember|speak|feel|think|learn|talk|sing|swear|lie|cook|laugh|dream,
		can you see|understand me|this|that $, anything|something|things you can|could, you can not do,
		can|could you help me $, can|could you help $, can you read my mind,
		can|could you make me laugh|smile|happy, can i ask|bother|trouble|interrupt|tell|trust|call|talk,
		may i ask, could i ask, what else|things can you,
		what can|could|would|should|will you do|help|say|tell|know, what can you do|help,
		how can|could|do you help, what are your, what is your, which is your, what was your, where is your,
		tell me about yourself, tell me something $, tell me something about you|yourself, about yourself,
		introduce yourself, yourself $, your name|favourite|favorite|opinion|creator|maker|purpose,
		your mood|feelings|birthday|hobby|hobbies|training|limits|limitations,
		your weekend|day|memory|personality|gender|age|job|weakness,
		your strength|thoughts|advice|guess|capabilities|skills|instructions|knowledge, why are|do|were you,
		where are|do you live|come, where are you, were you,
		have you ever|been|seen|read|heard|tried|got|met|had|missed|considered,
		did you sleep|know|have|enjoy|notice|see|like|hear|get|miss|understand|forget|lie|learn,
		would you rather|say|call|ever|prefer|consider, will you remember|be|ever|take|replace|miss,
		call|replace|thank|bother|insult|meet|offend|trust|teach|asked|ask|hurt you, wish me,
		talk|chat to|with you|me, tell me a|another joke|story|riddle|secret|fact, a joke|riddle,
		make me laugh|smile, cheer me up, sing me`},
	// You, whoever that may be.
	{Points{Conversational: 6}, `
		^ do|are|were|did|have|will|would you,
		what|when|where|time|many|often|which do|are|did|were|would|will you, are you,
		you say|talk|think|know|speak|talking|mean|can, talking to a|you|me,
		am i talking|speaking|right|wrong|boring|annoying|the, why so, what was that|it|this,
		the last bit|part|one|thing $, last bit|part $, who asked, should|shall|can we talk|discuss|chat,
		between you and`},
	{Points{Conversational: 4}, `
		you, your`},
	// You, the one who is asked to tell, and you, whoever does it.
	{Points{Conversational: -4}, `
		can|could|would|will|might you, how|where|when|what do|can|would|should|did|could you, if you, for you,
		do|did you know|happen|recommend|suggest|need|have|use|see, you need|have|use|want|get, tell you,
		show you, give you`},
	{Points{Conversational: -6}, `
		^ do|did you know|happen|see where|how|why|which|what|who|if|whether|of|a|any, ^ do you have,
		are you aware, would|will|can you mind|be, if you can|think`},
	// Courtesy with words of its own, and remarks.
	{Points{Conversational: 8}, `
		lol, haha, hahaha, hehe, lmao, rofl, thanks, thank you, thx, cheers, congratulations, congrats,
		happy birthday|new|holidays|friday|easter|monday|anniversary, merry christmas,
		good morning|night|evening|afternoon|luck|job|point|one|work|day|question|bye|weekend|to,
		long time no see, nice|pleased|great|glad|good|lovely to meet|see|talk|hear|know, see you|ya,
		talk later|soon|tomorrow, catch you, take care, take your time,
		have a nice|good|great|lovely|safe|question, get back to you, be right back, be back, brb, afk,
		welcome back, i am back, sleep well, enjoy your, same to you, you too, sweet dreams,
		sorry for|about|that|if|i|my|to|again,
		no worries|problem|need|thanks|rush|way|idea|offence|offense|doubt|hurry|pressure|comment|hard,
		my bad|mistake|apologies|fault, excuse me, pardon me,
		not bad|sure|really|yet|now|today|quite|funny|what|helpful|exactly, fair enough, makes|make sense,
		sounds good|great|like|right|fair|reasonable|interesting, same here, me too, me neither, up to you,
		your turn, well done|said|played, as you wish, good to know, kidding, of course, why not $, so what $,
		who cares, what a, how nice|funny|cute|sweet|kind|lovely|sad|odd|strange|boring|rude|cool,
		oh dear|no|boy|well|my, is not it $, do not you think, am i right`},
	{Points{Conversational: 8}, `
		you are, you were, you have been|helped|saved|done|got|earned,
		^ you beat|know|rock|win|seem|sound|look|got|deserve|make|did|really,
		^ you never|always|sure|confuse|amaze|remind|surprise|impress|keep|saved|helped|sounded, love you,
		i love|hate|like|miss it|this|that|you|talking|working|how|when|your|my,
		that is right|wrong|not|all|fine|good|great|cool|funny,
		that is it|what|exactly|correct|true|helpful|enough|ok|okay,
		that is nice|awesome|better|amazing|clear|perfect|interesting|strange|odd,
		that is weird|very|so|too|kind|sweet|brilliant|hilarious|a,
		that was|helps|helped|works|worked|makes|sounds|explains,
		that did|clears|cleared|took|went|answers|answered|sucks|hurts,
		this is fun|great|hopeless|hard|helpful|frustrating|nice,
		this is silly|confusing|getting|going|so|not|taking|all,
		i am sorry|tired|happy|sad|bored|done|confused|lost|back|hungry,
		i am impressed|glad|fine|good|ok|okay|off|so|having|here|afraid,
		i am excited|late|leaving|ready|feeling|nervous|out|proud|grateful|curious|very,
		i am sick|exhausted|home|all|too|joking|kidding|listening|thinking|only|a, i see, i understand $,
		i know $, i agree|disagree|guess|hope|wish|bet|suppose|doubt|swear,
		i promise|feel|appreciate|enjoyed|prefer|owe|trust|apologise|apologize,
		i did not get|understand|mean|expect|say|know|sleep|catch|follow|ask,
		i do not know|think|believe|agree|care|get|buy|mind|follow|trust|feel,
		i will try|think|be|do|take|get|let|see|come|read|ask|wait|remember|tell|give, i think you|we|that|so|i,
		i thought you|so|that, i found it|out, i give up,
		i passed|spent|slept|finished|spilled|won|failed|finally|survived,
		i had|went|broke|ate|dropped|almost|nearly|love|hate|deserve, i must say, i could not agree,
		i could never, i can not believe|thank|wait|complain,
		i have a|another|one|no|some question|questions|idea|doubts, i have nothing|had|been|no,
		what a day|week|mess|relief|pity|shame|joke`},
	{Points{Conversational: 8}, `
		^ wait, from now on, call me, exclamation marks, like i am five, eli5, tldr,
		in one|a|two|three|few sentence|sentences|word|words|nutshell,
		in other|simpler|plain|simple|fewer|your words|terms|english|own,
		too long|short|technical|complicated|verbose|fast|much $,
		more|less|bit|little concise|brief|formal|verbose|technical|polite|specific $,
		the last|second|first|previous sentence|part|bit|point|paragraph|answer|reply $, so far $`},
	{Points{Conversational: 6}, `
		are we done|good|there|friends|finished|still, is this thing on, is it ok|okay|fine|alright if,
		is this a good, is anyone|anybody there, anyone|anybody there|home|awake, you there,
		nothing to|else|for|much|special|new, checking in, say|says hi|hello, long day,
		nice|lovely|terrible|beautiful|awful weather|day, the weather is,
		it is been|friday|monday|late|raining|sunny|nice|hot|cold|me|only,
		let us talk|chat|move|call|leave|pick|take|agree|see|hope|not, pun, small talk|world, lucky me|you|us,
		weekend, long story, believe it, out of curiosity, between us, for fun, by the way $, off topic,
		wish i|you|me|us, i wish, personal question, something personal,
		our|this conversation|chat|talk|discussion`},
	{Points{Conversational: 4}, `
		nobody, anyway, typical, sigh, apparently, of all things, once in my life, every time i, no wonder,
		thank god|goodness, finally, luckily, the best part, will never understand, cake, office, colleague,
		beer, traffic, commute`},
	{Points{Conversational: 2}, `
		funny, silly, weird, tired, happy, glad, excited, hungry, lunch, coffee, birthday, boss, mood, luck,
		earlier, polite, rude, robot, assistant, chatbot, conversation, joke, bored, boring, lovely, friday,
		monday`},
}
