BEGIN TRANSACTION;
CREATE TABLE abandoned (
	name TEXT NOT NULL, 
	group_id TEXT NOT NULL, 
	cloud TEXT NOT NULL, 
	server_id TEXT, 
	at REAL NOT NULL, 
	"by" TEXT NOT NULL, 
	CONSTRAINT pk_abandoned PRIMARY KEY (name)
);
INSERT INTO "abandoned" VALUES('word','web','local','word',1.5,'word');
CREATE TABLE accounts (
	id TEXT NOT NULL, 
	uuid TEXT NOT NULL, 
	domain TEXT NOT NULL, 
	groups_at_most INTEGER, 
	members_at_most INTEGER, 
	created_at REAL NOT NULL, uses TEXT DEFAULT '[]' NOT NULL, after_revision INTEGER DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_accounts PRIMARY KEY (id), 
	CONSTRAINT fk_accounts_domain_domains FOREIGN KEY(domain) REFERENCES domains (id), 
	CONSTRAINT uq_accounts_uuid UNIQUE (uuid)
);
INSERT INTO "accounts" VALUES('root','758dd98a-a98b-5a45-8e27-1954a8a512ff','ROOT',NULL,NULL,0.0,'[]',0);
INSERT INTO "accounts" VALUES('word','word','shops',7,7,1.5,'["word"]',7);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0057');
CREATE TABLE answers (
	group_id TEXT NOT NULL, 
	request TEXT NOT NULL, 
	at REAL NOT NULL, 
	reason TEXT NOT NULL, 
	desired_from INTEGER, 
	desired_to INTEGER, 
	CONSTRAINT pk_answers PRIMARY KEY (group_id, request)
);
INSERT INTO "answers" VALUES('web','alarm-1',1700000001.0,'scaled_out',3,5);
INSERT INTO "answers" VALUES('web','p',1700000008.0,'quiet',5,5);
CREATE TABLE applied_files (
	name TEXT NOT NULL, 
	revision INTEGER NOT NULL, 
	at REAL NOT NULL, 
	"by" TEXT NOT NULL, 
	source TEXT NOT NULL, 
	sealed TEXT, 
	CONSTRAINT pk_applied_files PRIMARY KEY (name)
);
INSERT INTO "applied_files" VALUES('fleet',7,1.5,'word','word','word');
CREATE TABLE applied_settings (
	group_id TEXT NOT NULL, 
	applied TEXT NOT NULL, 
	CONSTRAINT pk_applied_settings PRIMARY KEY (group_id), 
	CONSTRAINT fk_applied_settings_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "applied_settings" VALUES('web','{"type":"AppliedSettings","at":1.5,"by":"word","owner":"file","values":[{"type":"SettingValue","where":["word"],"before":"word","after":"word"}],"entries":{"word":"word"},"revision":7,"is_return":true}');
CREATE TABLE attachments (
	group_id TEXT NOT NULL, 
	balancer TEXT NOT NULL, 
	port INTEGER NOT NULL, 
	"by" TEXT NOT NULL, 
	at REAL NOT NULL, 
	CONSTRAINT pk_attachments PRIMARY KEY (group_id, balancer), 
	CONSTRAINT fk_attachments_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "attachments" VALUES('web','word',7,'word',1.5);
CREATE TABLE audit (
	number INTEGER NOT NULL, 
	at REAL NOT NULL, 
	line TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	CONSTRAINT pk_audit PRIMARY KEY (number)
);
INSERT INTO "audit" VALUES(1,1.5,'{"act":"word","at":1.5,"because":"word","credential":"word","given":"word","groups":["word"],"number":1,"of":7,"on":"word","outcome":"word","peer":"word","result":"asked","way":"socket","who":"word"}','d85cd489e41bfdd13525d2be2b4e312bbac752ae3c09f435d876db8cbd81c0af');
CREATE TABLE bindings (
	group_id TEXT NOT NULL, 
	balancer TEXT NOT NULL, 
	binding TEXT NOT NULL, 
	CONSTRAINT pk_bindings PRIMARY KEY (group_id, balancer), 
	CONSTRAINT fk_bindings_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "bindings" VALUES('web','word','{"type":"Binding","balancer":"word","parts":{"word":"word"},"pending_since":1.5}');
CREATE TABLE canaries (
	group_id TEXT NOT NULL, 
	canary TEXT NOT NULL, 
	CONSTRAINT pk_canaries PRIMARY KEY (group_id), 
	CONSTRAINT fk_canaries_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "canaries" VALUES('web','{"type":"Canary","at":1.5,"by":"word","values":{"word":"word"},"beside":{"word":"word"},"over":1.5,"changes":1.5,"switches":true,"looked_until":1.5,"days":[{"type":"CanaryDay","begin":1.5,"end":1.5,"declared":{"type":"FleetFigures","hours":1.5,"over":1.5,"changes":7},"tried":{"type":"FleetFigures","hours":1.5,"over":1.5,"changes":7}}],"problem":"word"}');
CREATE TABLE checkpoints (
	slot TEXT NOT NULL, 
	ring INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	body BLOB NOT NULL, 
	CONSTRAINT pk_checkpoints PRIMARY KEY (slot, ring, place)
);
INSERT INTO "checkpoints" VALUES('s1',0,0,X'612068656164');
CREATE TABLE cloudstack_handles (
	section TEXT NOT NULL, 
	id TEXT NOT NULL, 
	uuid TEXT NOT NULL, 
	made_at REAL NOT NULL, 
	details JSON NOT NULL, 
	CONSTRAINT pk_cloudstack_handles PRIMARY KEY (section, id), 
	CONSTRAINT uq_cloudstack_handles_uuid UNIQUE (uuid)
);
INSERT INTO "cloudstack_handles" VALUES('counters','word','word',1.5,'{"word": "word"}');
CREATE TABLE cloudstack_jobs (
	uuid TEXT NOT NULL, 
	command TEXT NOT NULL, 
	user_name TEXT NOT NULL, 
	account TEXT NOT NULL, 
	made_at REAL NOT NULL, 
	ended_at REAL NOT NULL, 
	code INTEGER NOT NULL, 
	result TEXT NOT NULL, 
	section TEXT, 
	subject TEXT NOT NULL, 
	name TEXT NOT NULL, 
	CONSTRAINT pk_cloudstack_jobs PRIMARY KEY (uuid)
);
INSERT INTO "cloudstack_jobs" VALUES('word','word','word','word',1.5,1.5,7,'word','counters','word','word');
CREATE TABLE converged (
	group_id TEXT NOT NULL, 
	size INTEGER NOT NULL, 
	definition INTEGER NOT NULL, 
	at REAL NOT NULL, 
	CONSTRAINT pk_converged PRIMARY KEY (group_id), 
	CONSTRAINT fk_converged_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "converged" VALUES('web',7,7,1.5);
CREATE TABLE decision_blocks (
	id INTEGER NOT NULL, 
	group_id TEXT NOT NULL, 
	first_at REAL NOT NULL, 
	last_begun REAL NOT NULL, 
	last_at REAL NOT NULL, 
	decisions INTEGER NOT NULL, 
	resized_at REAL, 
	body BLOB NOT NULL, 
	CONSTRAINT pk_decision_blocks PRIMARY KEY (id)
);
INSERT INTO "decision_blocks" VALUES(1,'api',1700000220.0,1700000227.0,1700000227.0,8,1700000220.0,X'78DA6D8EEB0A83300C855F25E47790B4DEB6BD4A2D43B40341EDA69631C6DE7DED5428DB5A68F9724E4EF2C48B9D867AC19320B4536B263C2926115F4D1FD3EC155495637F68FF706EEADEB467EB960A3D86E7CBA1F4A668A4DFFE9BEBCCDA7AB57DD73C604BFA1F72AFC7C5B4B09643A2DFADB1BD1BC6B09DC2CC8F106510594A4ED8638AC49A14E6504009073882601022368AC457769031A4316431E431143194FB584998A3D6AF37ED5556E0');
CREATE TABLE decisions (
	id INTEGER NOT NULL, 
	group_id TEXT NOT NULL, 
	at REAL NOT NULL, 
	name TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	desired_from INTEGER, 
	desired_to INTEGER, 
	clamps TEXT NOT NULL, 
	message TEXT NOT NULL, 
	CONSTRAINT pk_decisions PRIMARY KEY (id)
);
INSERT INTO "decisions" VALUES(1,'web',1700000001.0,'scaled_out','alarm nagios',3,5,'[]','');
INSERT INTO "decisions" VALUES(2,'web',1700000008.0,'quiet','person ada',5,5,'[{"type":"Clamp","guard":"at_max","before":12,"after":10}]','wanted 12, possible in 1m30s');
INSERT INTO "decisions" VALUES(3,'web',1700000090.0,'steady','',5,7,'[]','');
INSERT INTO "decisions" VALUES(12,'api',1700000228.0,'quiet','policy out',3,3,'[]','wanted 5');
CREATE TABLE definitions (
	group_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	at REAL NOT NULL, 
	definition TEXT NOT NULL, 
	converged_at REAL, 
	CONSTRAINT pk_definitions PRIMARY KEY (group_id, number), 
	CONSTRAINT fk_definitions_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "definitions" VALUES('web',1,1700000000.0,'{"type":"Definition","group":{"type":"Group","id":"web","profile":"small","balancers":[{"type":"BalancerUse","balancer":"edge","port":8080}],"exclusive":false,"minimum":2,"maximum":10,"initial":null,"interval":30.0,"policies":["out","in"],"schedules":[],"named":[],"observed":[],"member_values":0,"mode":"act","quiet_time":300.0,"blind_floor":null,"drain":60.0,"grace":120.0,"build_timeout":900.0,"warm_up":60.0,"on_vanish":"replace","repair":{"type":"Repair","vanished":true,"broken":true,"unbuilt":true,"unhealthy":null,"passing":null},"victims":"oldest","distrust":0.3,"freshness":3,"projection":"on","budget":{"type":"Budget","outstanding":null,"per_hour":null},"roll":{"type":"RollBudgets","surge":{"type":"Allowance","number":1.0,"percent":false},"unavailable":{"type":"Allowance","number":0.0,"percent":false}},"max_growth":null,"max_shrinkage":null,"flap_damping":null,"stabilisation":null,"keep_growth":null,"freezes":[],"notify":null,"service":null},"profile":{"type":"Profile","id":"small","cloud":"local","recipe":{"type":"ProcessRecipe","command":["serve","--slots","4"],"env":{"MODE":"demo"},"directory":null,"limits":{"type":"ResourceLimits","memory":null,"cpu_time":null,"open_files":null,"file_size":null,"core":0,"nice":null},"new_privileges":false},"snmp":{"type":"SnmpAccess","port":161,"version":"2c","community":{"type":"SecretRef","env":"SNMP_COMMUNITY","file":null,"credential":null,"vault":null,"field":null},"user":null,"engine":"gufo"},"ready":null,"parts":[]},"cloud":{"type":"ProcessCloud","id":"local","budget":{"type":"Budget","outstanding":null,"per_hour":null},"calls":null},"balancers":{"edge":{"type":"HaproxyBalancer","id":"edge","socket":"/run/haproxy.sock","backend":"web","further":[],"template":null}}}',NULL);
INSERT INTO "definitions" VALUES('worker',1,1700000000.0,'{"type":"Definition","group":{"type":"Group","id":"worker","profile":"small","balancers":[{"type":"BalancerUse","balancer":"edge","port":8080}],"exclusive":false,"minimum":2,"maximum":10,"initial":null,"interval":30.0,"policies":["out","in"],"schedules":[],"named":[],"observed":[],"member_values":0,"mode":"act","quiet_time":300.0,"blind_floor":null,"drain":60.0,"grace":120.0,"build_timeout":900.0,"warm_up":60.0,"on_vanish":"replace","repair":{"type":"Repair","vanished":true,"broken":true,"unbuilt":true,"unhealthy":null,"passing":null},"victims":"oldest","distrust":0.3,"freshness":3,"projection":"on","budget":{"type":"Budget","outstanding":null,"per_hour":null},"roll":{"type":"RollBudgets","surge":{"type":"Allowance","number":1.0,"percent":false},"unavailable":{"type":"Allowance","number":0.0,"percent":false}},"max_growth":null,"max_shrinkage":null,"flap_damping":null,"stabilisation":null,"keep_growth":null,"freezes":[],"notify":null,"service":null},"profile":{"type":"Profile","id":"small","cloud":"local","recipe":{"type":"ProcessRecipe","command":["serve","--slots","4"],"env":{"MODE":"demo"},"directory":null,"limits":{"type":"ResourceLimits","memory":null,"cpu_time":null,"open_files":null,"file_size":null,"core":0,"nice":null},"new_privileges":false},"snmp":{"type":"SnmpAccess","port":161,"version":"2c","community":{"type":"SecretRef","env":"SNMP_COMMUNITY","file":null,"credential":null,"vault":null,"field":null},"user":null,"engine":"gufo"},"ready":null,"parts":[]},"cloud":{"type":"ProcessCloud","id":"local","budget":{"type":"Budget","outstanding":null,"per_hour":null},"calls":null},"balancers":{"edge":{"type":"HaproxyBalancer","id":"edge","socket":"/run/haproxy.sock","backend":"web","further":[],"template":null}}}',NULL);
CREATE TABLE deliveries (
	group_id TEXT NOT NULL, 
	alert TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	starts_at REAL NOT NULL, 
	status TEXT NOT NULL, 
	at REAL NOT NULL, 
	decision TEXT NOT NULL, 
	last_at REAL NOT NULL, 
	CONSTRAINT pk_deliveries PRIMARY KEY (group_id, alert, fingerprint, starts_at, status)
);
INSERT INTO "deliveries" VALUES('web','slow','f1',1700000000.0,'firing',1700000009.0,'d1',1700000009.0);
INSERT INTO "deliveries" VALUES('web','slow','f1',1700000000.0,'resolved',1700000010.0,'d2',1700000010.0);
CREATE TABLE domains (
	id TEXT NOT NULL, 
	uuid TEXT NOT NULL, 
	parent TEXT, 
	created_at REAL NOT NULL, 
	CONSTRAINT pk_domains PRIMARY KEY (id), 
	CONSTRAINT fk_domains_parent_domains FOREIGN KEY(parent) REFERENCES domains (id), 
	CONSTRAINT uq_domains_uuid UNIQUE (uuid)
);
INSERT INTO "domains" VALUES('ROOT','d5a50268-0437-58cb-9c74-0c9cc8d217c2',NULL,0.0);
INSERT INTO "domains" VALUES('shops','word','ROOT',1.5);
CREATE TABLE edits (
	id INTEGER NOT NULL, 
	group_id TEXT NOT NULL, 
	at REAL NOT NULL, 
	"by" TEXT NOT NULL, 
	edits TEXT NOT NULL, 
	CONSTRAINT pk_edits PRIMARY KEY (id)
);
INSERT INTO "edits" VALUES(1,'web',1700000092.0,'ada','[{"type":"Edit","key":"word","act":"added","before":"word","after":"word","file":"word","line":7,"groups":[]}]');
CREATE TABLE entities (
	section TEXT NOT NULL, 
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	text TEXT NOT NULL, 
	revision INTEGER NOT NULL, account TEXT DEFAULT 'root' NOT NULL, 
	CONSTRAINT pk_entities PRIMARY KEY (section, id)
);
INSERT INTO "entities" VALUES('counters','word','word','word',7,'word');
CREATE TABLE entity_revisions (
	number INTEGER NOT NULL, 
	at REAL NOT NULL, 
	"by" TEXT NOT NULL, 
	origin TEXT NOT NULL, 
	restored INTEGER, 
	changes TEXT NOT NULL, 
	CONSTRAINT pk_entity_revisions PRIMARY KEY (number)
);
INSERT INTO "entity_revisions" VALUES(7,1.5,'word','word',7,'[{"type":"EntityChange","key":["counters","word"],"before":null,"after":{"type":"Entity","section":"counters","id":"word","name":"word","text":"word","revision":7,"account":"word"}}]');
CREATE TABLE given_blocks (
	id INTEGER NOT NULL, 
	group_id TEXT NOT NULL, 
	first_at REAL NOT NULL, 
	last_begun REAL NOT NULL, 
	last_at REAL NOT NULL, 
	givens INTEGER NOT NULL, 
	body BLOB NOT NULL, 
	CONSTRAINT pk_given_blocks PRIMARY KEY (id)
);
INSERT INTO "given_blocks" VALUES(1,'api',1700000220.0,1700000227.0,1700000227.0,8,X'78DAED185D6F9B30F0AF209E51958F7E647D9B2AAD4FD3D665D21E92083970245EC0A6FE48D64EF9EFB3033106E3B49AF6345154B0EFCEE7FBBE537E8719650512E1FD380A294B8185F78B51D47A56D189882B4CB858CA91FA8BCE9FF0F772B90CC54B09FA7BAF5F8F780F442F22FDD2272B547D42AD739C41174664B106D68522E14032E192C11EE51209484F08C1249CC00C9E2570C14FD0852BE9B70A6F64C5A9411D942D0C7CC3A82CFB510992BC6158D21C272F06B97EE93F84D29F928B0248A59D2BD8C716C1E9CC1ED8DAE0516A312BA8248E994A60C999BFB10712710E883BC44A3D9262B231FC13C42093B95E1EA3B662AE36CF128388052E1C9F56189E504B3563CB737424D01632950E9F0273DEF52DFC2A21A95D5B911E5715CB1CC067D74F675C1D86DC099902B15D0DB304C024E6C0F63871444B18A8B8E3CAAE9963D6354A7631CDB258F907E74E1200DA1B9B37602E95EB94B65DC1D01690273CD72847240116132AE24CFBB27DB46434C33938872BD772A114F0D8EB513B6B7E26A8DC031C33D7420CF698634ABAF093833BF2ECA0EC04E62950BC69FAA4B146804BA17829D4522576228C88EA4565C3B5DF4588F74598E27B20B15B9ACA562D20B4110B6F08CABDFACD4FE826A17360A25FBF1D7814DF61D204479653CAACCB5F9DA8E598B8A1FC2E135CAC6B6B689743136895DD282BB788381947F7E035CD67856C0CE36618A8F882B75AC4F9FAB5CEE1FA7AF7AA2F16BA4A6DC0B94A50AF6C0F15DE32748F513BD6AF45E10076A65489784022D9D6E2F55CF7A341BF9907BA18738F9E0F2ABE488A9A00499895130E9B574A7C95A31B30B5724232E2B9FB7B8DAA9DB741C46D1920BD2E7A3248BBBD7B8887E6FE5F35F7F7D7AD63459B31E0DB365B9AA77561E8497F8D9B8BBA9C5C48684D92BA6DEEDC756D521D816D16B51A5B26C9CE23C8DC20BDE5BBA7D91E9BD9276EFA906702FA7A26B8DCB67C11DE6B176FED3F762BF530660C63C630660C63C630660C63C630660C63C6BF1C33943364D175F3563984C7AA251C0CFCB80C57E12A0A139ACB82E85F3617E1249806D7C14D701BDC05B3E0431885E33B7DEF6832195D8D02B319DB9B89BD99DA9B6B7B73636F6EEDCDDDD548DFA4FFAF6ED45BA1024B92301A4753F5846AA5BFB3FA999A6F059D9AD5ACB3B7F1B3CEF9BF3EBD5A1DFF0031254037');
CREATE TABLE givens (
	id INTEGER NOT NULL, 
	group_id TEXT NOT NULL, 
	at REAL NOT NULL, 
	given TEXT NOT NULL, 
	CONSTRAINT pk_givens PRIMARY KEY (id)
);
INSERT INTO "givens" VALUES(1,'web',1700000090.0,'{"type":"Given","form":1,"life":1.5,"number":7,"at":1700000090.0,"after":1.5,"evaluated":true,"requests":[{"type":"Request","id":"word","group":"word","cause":"policy","by":"word","adjustment":{"type":"Adjustment","verb":"add","amount":1.5,"percent":true,"at_least":7,"rounding":"careful"},"policy":"word","quiet_time":1.5,"quiet_scope":"group","force":true,"due":1.5,"missed":true,"expects":7}],"fleet":{"type":"Fleet","listed":true,"marked":7,"in_service":7,"creates_left":7,"back_off_until":1.5,"leaving":7,"superseded":true,"ahead":"word","balancer_not_found":true,"profile":"word"},"state":{"type":"GroupState","desired":7,"revision":7,"forced":true,"kept":true,"quiets":[{"type":"Quiet","policy":"word","scope":"group","direction":"out","until":1.5,"lasts":1.5}],"grown_at":1.5,"pause":"no","signals":[{"type":"Signal","alert":"word","key":"word","kind":"floor","size":7,"since":1.5,"until":1.5,"lasts":1.5,"by":"word","because":"word"}],"orphaned":true,"moves":[{"type":"Move","at":1.5,"before":7,"after":7}],"observed":{"type":"Observed","ceilings":[{"type":"Ceiling","since":1.5,"size":7}],"seen":1.5},"watched":[{"type":"Watched","policy":"word","times":{"type":"Calendar","cron":"word","timezone":"word"},"until":1.5}],"turn":{"type":"Turn","began":1.5,"queued":{"type":"Queued","request":{"type":"Request","id":"word","group":"word","cause":"policy","by":"word","adjustment":{"type":"Adjustment","verb":"add","amount":1.5,"percent":true,"at_least":7,"rounding":"careful"},"policy":"word","quiet_time":1.5,"quiet_scope":"group","force":true,"due":1.5,"missed":true,"expects":7},"since":1.5,"until":1.5}},"fresh":true,"older":{"type":"OlderStore","since":1.5,"stored":7,"found":7,"sequence":7},"shrunk":{"type":"Shrunk","size":7,"revision":7},"fleet_pause":{"type":"FleetPause","pause":"no","by":"word","since":1.5,"because":"word"}},"before":{"type":"GroupState","desired":7,"revision":7,"forced":true,"kept":true,"quiets":[{"type":"Quiet","policy":"word","scope":"group","direction":"out","until":1.5,"lasts":1.5}],"grown_at":1.5,"pause":"no","signals":[{"type":"Signal","alert":"word","key":"word","kind":"floor","size":7,"since":1.5,"until":1.5,"lasts":1.5,"by":"word","because":"word"}],"orphaned":true,"moves":[{"type":"Move","at":1.5,"before":7,"after":7}],"observed":{"type":"Observed","ceilings":[{"type":"Ceiling","since":1.5,"size":7}],"seen":1.5},"watched":[{"type":"Watched","policy":"word","times":{"type":"Calendar","cron":"word","timezone":"word"},"until":1.5}],"turn":{"type":"Turn","began":1.5,"queued":{"type":"Queued","request":{"type":"Request","id":"word","group":"word","cause":"policy","by":"word","adjustment":{"type":"Adjustment","verb":"add","amount":1.5,"percent":true,"at_least":7,"rounding":"careful"},"policy":"word","quiet_time":1.5,"quiet_scope":"group","force":true,"due":1.5,"missed":true,"expects":7},"since":1.5,"until":1.5}},"fresh":true,"older":{"type":"OlderStore","since":1.5,"stored":7,"found":7,"sequence":7},"shrunk":{"type":"Shrunk","size":7,"revision":7},"fleet_pause":{"type":"FleetPause","pause":"no","by":"word","since":1.5,"because":"word"}},"resumed":true,"holds_anew":true}');
INSERT INTO "givens" VALUES(10,'api',1700000228.0,'{"type":"Given","form":1,"life":1.5,"number":8,"at":1700000228.0,"after":1.5,"evaluated":true,"requests":[{"type":"Request","id":"word","group":"word","cause":"policy","by":"word","adjustment":{"type":"Adjustment","verb":"add","amount":1.5,"percent":true,"at_least":7,"rounding":"careful"},"policy":"word","quiet_time":1.5,"quiet_scope":"group","force":true,"due":1.5,"missed":true,"expects":7}],"fleet":{"type":"Fleet","listed":true,"marked":7,"in_service":7,"creates_left":7,"back_off_until":1.5,"leaving":7,"superseded":true,"ahead":"word","balancer_not_found":true,"profile":"word"},"state":{"type":"GroupState","desired":7,"revision":7,"forced":true,"kept":true,"quiets":[{"type":"Quiet","policy":"word","scope":"group","direction":"out","until":1.5,"lasts":1.5}],"grown_at":1.5,"pause":"no","signals":[{"type":"Signal","alert":"word","key":"word","kind":"floor","size":7,"since":1.5,"until":1.5,"lasts":1.5,"by":"word","because":"word"}],"orphaned":true,"moves":[{"type":"Move","at":1.5,"before":7,"after":7}],"observed":{"type":"Observed","ceilings":[{"type":"Ceiling","since":1.5,"size":7}],"seen":1.5},"watched":[{"type":"Watched","policy":"word","times":{"type":"Calendar","cron":"word","timezone":"word"},"until":1.5}],"turn":{"type":"Turn","began":1.5,"queued":{"type":"Queued","request":{"type":"Request","id":"word","group":"word","cause":"policy","by":"word","adjustment":{"type":"Adjustment","verb":"add","amount":1.5,"percent":true,"at_least":7,"rounding":"careful"},"policy":"word","quiet_time":1.5,"quiet_scope":"group","force":true,"due":1.5,"missed":true,"expects":7},"since":1.5,"until":1.5}},"fresh":true,"older":{"type":"OlderStore","since":1.5,"stored":7,"found":7,"sequence":7},"shrunk":{"type":"Shrunk","size":7,"revision":7},"fleet_pause":{"type":"FleetPause","pause":"no","by":"word","since":1.5,"because":"word"}},"before":{"type":"GroupState","desired":7,"revision":7,"forced":true,"kept":true,"quiets":[{"type":"Quiet","policy":"word","scope":"group","direction":"out","until":1.5,"lasts":1.5}],"grown_at":1.5,"pause":"no","signals":[{"type":"Signal","alert":"word","key":"word","kind":"floor","size":7,"since":1.5,"until":1.5,"lasts":1.5,"by":"word","because":"word"}],"orphaned":true,"moves":[{"type":"Move","at":1.5,"before":7,"after":7}],"observed":{"type":"Observed","ceilings":[{"type":"Ceiling","since":1.5,"size":7}],"seen":1.5},"watched":[{"type":"Watched","policy":"word","times":{"type":"Calendar","cron":"word","timezone":"word"},"until":1.5}],"turn":{"type":"Turn","began":1.5,"queued":{"type":"Queued","request":{"type":"Request","id":"word","group":"word","cause":"policy","by":"word","adjustment":{"type":"Adjustment","verb":"add","amount":1.5,"percent":true,"at_least":7,"rounding":"careful"},"policy":"word","quiet_time":1.5,"quiet_scope":"group","force":true,"due":1.5,"missed":true,"expects":7},"since":1.5,"until":1.5}},"fresh":true,"older":{"type":"OlderStore","since":1.5,"stored":7,"found":7,"sequence":7},"shrunk":{"type":"Shrunk","size":7,"revision":7},"fleet_pause":{"type":"FleetPause","pause":"no","by":"word","since":1.5,"because":"word"}},"resumed":true,"holds_anew":true}');
CREATE TABLE groups (
	id TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	desired INTEGER, 
	revision INTEGER NOT NULL, 
	forced BOOLEAN NOT NULL, 
	kept BOOLEAN NOT NULL, 
	grown_at REAL, 
	pause TEXT NOT NULL, 
	orphaned BOOLEAN NOT NULL, 
	deleting BOOLEAN NOT NULL, 
	failed_builds INTEGER NOT NULL, 
	back_off_until REAL, moves TEXT DEFAULT '[]' NOT NULL, observed TEXT DEFAULT '{"type":"Observed"}' NOT NULL, watched TEXT DEFAULT '[]' NOT NULL, turn TEXT DEFAULT '{"type":"Turn"}' NOT NULL, builds_of TEXT, older TEXT, shrunk TEXT, fresh BOOLEAN DEFAULT 0 NOT NULL, account TEXT DEFAULT 'root' NOT NULL, 
	CONSTRAINT pk_groups PRIMARY KEY (id)
);
INSERT INTO "groups" VALUES('web','{"type":"Definition","group":{"type":"Group","id":"web","profile":"small","balancers":[{"type":"BalancerUse","balancer":"edge","port":8080}],"exclusive":false,"minimum":2,"maximum":10,"initial":null,"interval":30.0,"policies":["out","in"],"schedules":[],"named":[],"observed":[],"member_values":0,"mode":"act","quiet_time":300.0,"blind_floor":null,"drain":60.0,"grace":120.0,"build_timeout":900.0,"warm_up":60.0,"on_vanish":"replace","repair":{"type":"Repair","vanished":true,"broken":true,"unbuilt":true,"unhealthy":null,"passing":null},"victims":"oldest","distrust":0.3,"freshness":3,"projection":"on","budget":{"type":"Budget","outstanding":null,"per_hour":null},"roll":{"type":"RollBudgets","surge":{"type":"Allowance","number":1.0,"percent":false},"unavailable":{"type":"Allowance","number":0.0,"percent":false}},"max_growth":null,"max_shrinkage":null,"flap_damping":null,"stabilisation":null,"keep_growth":null,"freezes":[],"notify":null,"service":null},"profile":{"type":"Profile","id":"small","cloud":"local","recipe":{"type":"ProcessRecipe","command":["serve","--slots","4"],"env":{"MODE":"demo"},"directory":null,"limits":{"type":"ResourceLimits","memory":null,"cpu_time":null,"open_files":null,"file_size":null,"core":0,"nice":null},"new_privileges":false},"snmp":{"type":"SnmpAccess","port":161,"version":"2c","community":{"type":"SecretRef","env":"SNMP_COMMUNITY","file":null,"credential":null,"vault":null,"field":null},"user":null,"engine":"gufo"},"ready":null,"parts":[]},"cloud":{"type":"ProcessCloud","id":"local","budget":{"type":"Budget","outstanding":null,"per_hour":null},"calls":null},"balancers":{"edge":{"type":"HaproxyBalancer","id":"edge","socket":"/run/haproxy.sock","backend":"web","further":[],"template":null},"door":{"type":"SharedListener","id":"door","address":"127.0.0.1","port":80}}}',7,7,1,1,1.5,'no',0,0,2,1700000600.0,'[{"type":"Move","at":1.5,"before":7,"after":7}]','{"type":"Observed","ceilings":[{"type":"Ceiling","since":1.5,"size":7}],"seen":1.5}','[]','{"type":"Turn","began":1.5,"queued":{"type":"Queued","request":{"type":"Request","id":"word","group":"word","cause":"policy","by":"word","adjustment":{"type":"Adjustment","verb":"add","amount":1.5,"percent":true,"at_least":7,"rounding":"careful"},"policy":"word","quiet_time":1.5,"quiet_scope":"group","force":true,"due":1.5,"missed":true,"expects":7},"since":1.5,"until":1.5}}',NULL,'{"type":"OlderStore","since":1.5,"stored":7,"found":7,"sequence":7}','{"type":"Shrunk","size":7,"revision":7}',1,'root');
INSERT INTO "groups" VALUES('worker','{"type":"Definition","group":{"type":"Group","id":"worker","profile":"small","balancers":[{"type":"BalancerUse","balancer":"edge","port":8080}],"exclusive":false,"minimum":2,"maximum":10,"initial":null,"interval":30.0,"policies":["out","in"],"schedules":[],"named":[],"observed":[],"member_values":0,"mode":"act","quiet_time":300.0,"blind_floor":null,"drain":60.0,"grace":120.0,"build_timeout":900.0,"warm_up":60.0,"on_vanish":"replace","repair":{"type":"Repair","vanished":true,"broken":true,"unbuilt":true,"unhealthy":null,"passing":null},"victims":"oldest","distrust":0.3,"freshness":3,"projection":"on","budget":{"type":"Budget","outstanding":null,"per_hour":null},"roll":{"type":"RollBudgets","surge":{"type":"Allowance","number":1.0,"percent":false},"unavailable":{"type":"Allowance","number":0.0,"percent":false}},"max_growth":null,"max_shrinkage":null,"flap_damping":null,"stabilisation":null,"keep_growth":null,"freezes":[],"notify":null,"service":null},"profile":{"type":"Profile","id":"small","cloud":"local","recipe":{"type":"ProcessRecipe","command":["serve","--slots","4"],"env":{"MODE":"demo"},"directory":null,"limits":{"type":"ResourceLimits","memory":null,"cpu_time":null,"open_files":null,"file_size":null,"core":0,"nice":null},"new_privileges":false},"snmp":{"type":"SnmpAccess","port":161,"version":"2c","community":{"type":"SecretRef","env":"SNMP_COMMUNITY","file":null,"credential":null,"vault":null,"field":null},"user":null,"engine":"gufo"},"ready":null,"parts":[]},"cloud":{"type":"ProcessCloud","id":"local","budget":{"type":"Budget","outstanding":null,"per_hour":null},"calls":null},"balancers":{"edge":{"type":"HaproxyBalancer","id":"edge","socket":"/run/haproxy.sock","backend":"web","further":[],"template":null},"door":{"type":"SharedListener","id":"door","address":"127.0.0.1","port":80}}}',NULL,0,0,0,NULL,'no',1,0,0,NULL,'[]','{"type":"Observed","ceilings":[],"seen":null}','[]','{"type":"Turn","began":null,"queued":null}',NULL,NULL,NULL,1,'root');
CREATE TABLE hooks (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	token TEXT NOT NULL, 
	old_token TEXT, 
	old_until REAL, 
	groups TEXT NOT NULL, 
	effects TEXT NOT NULL, 
	directions TEXT NOT NULL, 
	hmac_secret TEXT, 
	created_at REAL NOT NULL, 
	revoked_at REAL, 
	last_used_at REAL, pushes BOOLEAN DEFAULT 0 NOT NULL, policy TEXT, observes BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_hooks PRIMARY KEY (id), 
	CONSTRAINT uq_hooks_name UNIQUE (name)
);
INSERT INTO "hooks" VALUES('h1','alertmanager','{"type":"TokenHash","salt":"5a17","digest":"d16e57"}',NULL,NULL,'["web"]','["floor"]','["out"]',NULL,1700000000.0,NULL,NULL,0,NULL,0);
INSERT INTO "hooks" VALUES('h2','grafana','{"type":"TokenHash","salt":"5a17","digest":"d16e57"}','{"type":"TokenHash","salt":"01d5a17","digest":"01dd16e57"}',1700003600.0,'["web","worker"]','["fire","floor","shield","freeze","value"]','["out","in"]','{"type":"SecretRef","env":"GRAFANA_HMAC","file":null,"credential":null,"vault":null,"field":null}',1700000000.0,1700000060.0,1700000050.0,0,NULL,0);
CREATE TABLE key_pairs (
	user_name TEXT NOT NULL, 
	name TEXT NOT NULL, 
	api_key TEXT NOT NULL, 
	secret TEXT NOT NULL, 
	old_api_key TEXT, 
	old_secret TEXT, 
	old_expires_at REAL, 
	created_at REAL NOT NULL, 
	expires_at REAL, 
	last_used_at REAL, 
	CONSTRAINT pk_key_pairs PRIMARY KEY (user_name, name), 
	CONSTRAINT fk_key_pairs_user_name_users FOREIGN KEY(user_name) REFERENCES users (name) ON DELETE CASCADE, 
	CONSTRAINT uq_key_pairs_api_key UNIQUE (api_key)
);
INSERT INTO "key_pairs" VALUES('ada','word','word','word','word','word',1.5,1.5,1.5,1.5);
CREATE TABLE keyed_calls (
	caller TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	at REAL NOT NULL, 
	status INTEGER, 
	body TEXT, 
	CONSTRAINT pk_keyed_calls PRIMARY KEY (caller, "key")
);
INSERT INTO "keyed_calls" VALUES('word','word','word',1.5,200,'{}');
CREATE TABLE lease (
	name TEXT NOT NULL, 
	epoch INTEGER NOT NULL, 
	process TEXT NOT NULL, 
	worker TEXT NOT NULL, 
	renewals INTEGER NOT NULL, 
	span REAL NOT NULL, 
	expires_at REAL NOT NULL, 
	declaration TEXT NOT NULL, 
	CONSTRAINT pk_lease PRIMARY KEY (name)
);
INSERT INTO "lease" VALUES('fleet',7,'p1','a',3,10.0,94.0,'d1');
CREATE TABLE members (
	group_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	cloud TEXT NOT NULL, 
	sequence INTEGER NOT NULL, 
	phase TEXT NOT NULL, 
	intended_at REAL NOT NULL, 
	server_id TEXT, 
	made_at REAL, 
	in_service_at REAL, 
	balancers TEXT NOT NULL, 
	leaving TEXT, 
	leaving_at REAL, 
	drained_at REAL, 
	protected BOOLEAN NOT NULL, 
	absent_listings INTEGER NOT NULL, 
	absent_at REAL, 
	create_attempts INTEGER NOT NULL, 
	destroy_attempts INTEGER NOT NULL, 
	gone_at REAL, profile TEXT, detaching TEXT DEFAULT '[]' NOT NULL, failing_since REAL, attempts TEXT DEFAULT '[]' NOT NULL, given BOOLEAN DEFAULT 0 NOT NULL, removal_at REAL, removal_tried_at REAL, parts TEXT DEFAULT '[]' NOT NULL, seats TEXT DEFAULT '[]' NOT NULL, lost_at REAL, 
	CONSTRAINT pk_members PRIMARY KEY (group_id, name), 
	CONSTRAINT uq_members_group_id_sequence UNIQUE (group_id, sequence), 
	CONSTRAINT fk_members_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "members" VALUES('web','web-k3f9ab-1','local',1,'intended',1700000002.0,NULL,NULL,NULL,'[["edge",8080]]',NULL,NULL,NULL,0,0,NULL,0,0,NULL,NULL,'[]',NULL,'[]',0,NULL,NULL,'[]','[]',NULL);
INSERT INTO "members" VALUES('web','web-k3f9ab-2','local',2,'intended',1700000002.0,NULL,NULL,NULL,'[["edge",8080]]',NULL,NULL,NULL,0,0,NULL,0,0,NULL,NULL,'[]',NULL,'[]',0,NULL,NULL,'[]','[]',NULL);
INSERT INTO "members" VALUES('web','web-k3f9ab-7','local',7,'leaving',1699999900.0,'4711',1699999910.0,1699999920.0,'[["edge",8080],["door",80]]','replaced',1699999980.0,1699999981.0,1,2,1699999995.0,1,3,1699999999.0,'5f2c','["door"]',1699999970.0,'[{"type":"Attempts","call":"leave","balancer":"door","count":4,"again_at":1700000009.0,"failed":false,"because":"no answer","cause":null}]',1,1699999982.0,1699999997.0,'[["front","destroy"],["data","retain"]]','[["edge","7c1b"]]',NULL);
CREATE TABLE meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_meta PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('installation','k3f9ab');
INSERT INTO "meta" VALUES('fleet_pause','{"type":"FleetPause","pause":"no","by":"word","since":1.5,"because":"word"}');
INSERT INTO "meta" VALUES('generation','12-k3f9abcd');
INSERT INTO "meta" VALUES('anonymous','viewer');
INSERT INTO "meta" VALUES('clock','b1 1.5');
CREATE TABLE notes (
	id INTEGER NOT NULL, 
	group_id TEXT NOT NULL, 
	at REAL NOT NULL, 
	name TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	desired_from INTEGER, 
	desired_to INTEGER, 
	message TEXT NOT NULL, 
	CONSTRAINT pk_notes PRIMARY KEY (id)
);
INSERT INTO "notes" VALUES(1,'web',1700000000.0,'declared','file',NULL,NULL,'');
INSERT INTO "notes" VALUES(2,'worker',1700000000.0,'declared','file',NULL,NULL,'');
INSERT INTO "notes" VALUES(3,'web',1700000006.0,'pause','ada',NULL,NULL,'maintenance');
INSERT INTO "notes" VALUES(4,'worker',1700000007.0,'orphaned','file',NULL,NULL,'');
INSERT INTO "notes" VALUES(5,'web',1700000091.0,'word','word',NULL,NULL,'word');
INSERT INTO "notes" VALUES(6,'web',1700000091.0,'word','word',NULL,NULL,'word');
INSERT INTO "notes" VALUES(7,'web',1700000091.0,'word','word',NULL,NULL,'word');
INSERT INTO "notes" VALUES(8,'web',1700000092.0,'declared_again','file',NULL,NULL,'');
INSERT INTO "notes" VALUES(9,'web',1700000092.0,'edited','ada',NULL,NULL,'word: word → word (word:7)');
INSERT INTO "notes" VALUES(10,'web',1700000093.0,'pause_all','ada',NULL,NULL,'maintenance');
INSERT INTO "notes" VALUES(11,'worker',1700000093.0,'pause_all','ada',NULL,NULL,'maintenance');
CREATE TABLE notices (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	group_id TEXT NOT NULL, 
	at REAL NOT NULL, 
	notice TEXT NOT NULL, 
	target TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	next_at REAL, 
	delivered_at REAL, kind TEXT DEFAULT 'trouble' NOT NULL, 
	CONSTRAINT pk_notices PRIMARY KEY (number), 
	CONSTRAINT uq_notices_id UNIQUE (id)
);
INSERT INTO "notices" VALUES(1,'word.1500.warning.entered','word',1.5,'{"type":"Notice","group":"word","turn":"entered","severity":"warning","condition":"deleting","messages":["word"],"since":1.5,"at":1.5}','{"type":"NotifyCommand","command":["word"]}',7,1.5,NULL,'trouble');
CREATE TABLE passwords (
	user_name TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	changed_at REAL NOT NULL, 
	CONSTRAINT pk_passwords PRIMARY KEY (user_name), 
	CONSTRAINT fk_passwords_user_name_users FOREIGN KEY(user_name) REFERENCES users (name) ON DELETE CASCADE
);
INSERT INTO "passwords" VALUES('ada','word',1.5);
CREATE TABLE pins (
	group_id TEXT NOT NULL, 
	revision INTEGER NOT NULL, 
	at REAL NOT NULL, 
	"by" TEXT NOT NULL, 
	CONSTRAINT pk_pins PRIMARY KEY (group_id), 
	CONSTRAINT fk_pins_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "pins" VALUES('web',7,1.5,'word');
CREATE TABLE quiets (
	group_id TEXT NOT NULL, 
	ordinal INTEGER NOT NULL, 
	policy TEXT, 
	scope TEXT NOT NULL, 
	direction TEXT NOT NULL, 
	until REAL NOT NULL, lasts REAL, 
	CONSTRAINT pk_quiets PRIMARY KEY (group_id, ordinal), 
	CONSTRAINT fk_quiets_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "quiets" VALUES('web',0,'out','group','out',1700000000.0,NULL);
CREATE TABLE relayed (
	id TEXT NOT NULL, 
	worker TEXT NOT NULL, 
	at REAL NOT NULL, 
	epoch INTEGER NOT NULL, 
	request TEXT NOT NULL, 
	taken_up INTEGER, 
	answer TEXT, 
	CONSTRAINT pk_relayed PRIMARY KEY (id)
);
INSERT INTO "relayed" VALUES('r1','b',94.0,7,'1.0a1b2c3d.AAAA',7,'1.0a1b2c3d.BBBB');
CREATE TABLE rolls (
	group_id TEXT NOT NULL, 
	roll TEXT NOT NULL, 
	CONSTRAINT pk_rolls PRIMARY KEY (group_id), 
	CONSTRAINT fk_rolls_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "rolls" VALUES('web','{"type":"Roll","target":"word","budgets":{"type":"RollBudgets","surge":{"type":"Allowance","number":1.5,"percent":true},"unavailable":{"type":"Allowance","number":1.5,"percent":true}},"started_at":1.5,"by":"word","state":"running","because":"word","failed":7,"ended_at":1.5}');
CREATE TABLE sequences (
	group_id TEXT NOT NULL, 
	last INTEGER NOT NULL, 
	CONSTRAINT pk_sequences PRIMARY KEY (group_id)
);
INSERT INTO "sequences" VALUES('web',7);
INSERT INTO "sequences" VALUES('worker',0);
CREATE TABLE signals (
	group_id TEXT NOT NULL, 
	alert TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	size INTEGER, 
	since REAL NOT NULL, 
	until REAL NOT NULL, lasts REAL, "by" TEXT DEFAULT '' NOT NULL, because TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_signals PRIMARY KEY (group_id, alert, "key", kind), 
	CONSTRAINT fk_signals_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "signals" VALUES('web','deploy','f1','shield',NULL,1699999940.0,1700000600.0,NULL,'','');
CREATE TABLE span_blocks (
	id INTEGER NOT NULL, 
	group_id TEXT NOT NULL, 
	first_at REAL NOT NULL, 
	last_begun REAL NOT NULL, 
	last_at REAL NOT NULL, 
	spans INTEGER NOT NULL, 
	body BLOB NOT NULL, 
	CONSTRAINT pk_span_blocks PRIMARY KEY (id)
);
INSERT INTO "span_blocks" VALUES(1,'worker',1700000001.0,1700000207.0,1700000207.0,9,X'7801014213BDEC7B22666F726D6174223A312C226F72646572223A5B302C312C322C312C322C312C322C312C325D2C22666F726D73223A5B225B5C75303030302C5C75303030302C5C75303030302C5C227B5C5C5C22747970655C5C5C223A5C5C5C224578706C616E6174696F6E5C5C5C222C5C5C5C2267726F75705C5C5C223A5C5C5C22776F726B65725C5C5C222C5C5C5C2261745C5C5C223A5C75303030302C5C5C5C226469676573745C5C5C223A5C5C5C22645C75303030305C5C5C222C5C5C5C226D6F64655C5C5C223A5C5C5C226163745C5C5C222C5C5C5C2270617573655C5C5C223A5C5C5C226E6F5C5C5C222C5C5C5C22726561736F6E5C5C5C223A5C5C5C227374656164795C5C5C222C5C5C5C22646573697265645F66726F6D5C5C5C223A5C75303030302C5C5C5C22646573697265645F746F5C5C5C223A5C75303030302C5C5C5C22616476697365645F746F5C5C5C223A6E756C6C2C5C5C5C226D696E696D756D5C5C5C223A5C75303030302C5C5C5C226D6178696D756D5C5C5C223A5C75303030302C5C5C5C22696E5F736572766963655C5C5C223A5C75303030302C5C5C5C22706F6C69636965735C5C5C223A5B7B5C5C5C22747970655C5C5C223A5C5C5C22506F6C6963794578706C616E6174696F6E5C5C5C222C5C5C5C22706F6C6963795C5C5C223A5C5C5C226F75745C5C5C222C5C5C5C2274727574685C5C5C223A5C5C5C2266616C73655C5C5C222C5C5C5C22726561736F6E5C5C5C223A5C5C5C226E6F745F6D65745C5C5C222C5C5C5C2268656C645C5C5C223A5C75303030302C5C5C5C226E65656465645C5C5C223A5C75303030302C5C5C5C22696E5F615F726F775C5C5C223A6E756C6C2C5C5C5C22636F6E646974696F6E735C5C5C223A5B7B5C5C5C22747970655C5C5C223A5C5C5C22436F6E646974696F6E4578706C616E6174696F6E5C5C5C222C5C5C5C22636F6E646974696F6E5C5C5C223A5C5C5C22627573795C5C5C222C5C5C5C22636F756E7465725C5C5C223A5C5C5C226370755C5C5C222C5C5C5C22756E69745C5C5C223A5C5C5C2270657263656E745C5C5C222C5C5C5C226163726F73735C5C5C223A5C5C5C226176675C5C5C222C5C5C5C226167677265676174655C5C5C223A5C5C5C226176675C5C5C222C5C5C5C2277696E646F775C5C5C223A5C75303030302C5C5C5C22636F6D706172655C5C5C223A5C5C5C2261626F76655C5C5C222C5C5C5C227468726573686F6C645C5C5C223A5C75303030302C5C5C5C2274727574685C5C5C223A5C5C5C22756E6B6E6F776E5C5C5C222C5C5C5C2276616C75655C5C5C223A6E756C6C2C5C5C5C226C6F775C5C5C223A6E756C6C2C5C5C5C22686967685C5C5C223A6E756C6C2C5C5C5C2268656172645C5C5C223A5C75303030302C5C5C5C2265787065637465645C5C5C223A5C75303030302C5C5C5C226167655C5C5C223A5C75303030302C5C5C5C226C61636B5C5C5C223A6E756C6C2C5C5C5C226C6566745F6F75745C5C5C223A5C75303030302C5C5C5C227065725F6D656D6265725C5C5C223A6E756C6C2C5C5C5C227065725F67726F75705C5C5C223A66616C73657D5D2C5C5C5C2265787072657373696F6E735C5C5C223A5B5D2C5C5C5C22656E6F7567685C5C5C223A6E756C6C2C5C5C5C2274616B656E5C5C5C223A6E756C6C2C5C5C5C2261696D5C5C5C223A6E756C6C2C5C5C5C22666F72657365656E5C5C5C223A6E756C6C2C5C5C5C22666F726563617374735C5C5C223A66616C73657D5D2C5C5C5C22616E73776572735C5C5C223A5B5D2C5C5C5C227175696574735C5C5C223A5B5D2C5C5C5C227369676E616C735C5C5C223A5B5D2C5C5C5C226C656176696E675C5C5C223A5C75303030302C5C5C5C22667265657A65735C5C5C223A5B5D2C5C5C5C2273746162696C6973696E675C5C5C223A6E756C6C2C5C5C5C226C696D6974735C5C5C223A5B5D2C5C5C5C22636F6D696E675C5C5C223A5B5D2C5C5C5C227175657565645C5C5C223A6E756C6C2C5C5C5C2261686561645C5C5C223A6E756C6C2C5C5C5C22666C6565745F70617573655C5C5C223A6E756C6C2C5C5C5C2262617369735C5C5C223A6E756C6C7D5C222C5C225B6E756C6C5D5C222C5C225B6E756C6C5D5C225D222C225B5C75303030302C5C75303030302C5C75303030302C5C227B5C5C5C22747970655C5C5C223A5C5C5C224578706C616E6174696F6E5C5C5C222C5C5C5C2267726F75705C5C5C223A5C5C5C22776F726B65725C5C5C222C5C5C5C2261745C5C5C223A5C75303030302C5C5C5C226469676573745C5C5C223A5C5C5C22645C75303030305C5C5C222C5C5C5C226D6F64655C5C5C223A5C5C5C226163745C5C5C222C5C5C5C2270617573655C5C5C223A5C5C5C226E6F5C5C5C222C5C5C5C22726561736F6E5C5C5C223A5C5C5C227374656164795C5C5C222C5C5C5C22646573697265645F66726F6D5C5C5C223A5C75303030302C5C5C5C22646573697265645F746F5C5C5C223A5C75303030302C5C5C5C22616476697365645F746F5C5C5C223A6E756C6C2C5C5C5C226D696E696D756D5C5C5C223A5C75303030302C5C5C5C226D6178696D756D5C5C5C223A5C75303030302C5C5C5C22696E5F736572766963655C5C5C223A5C75303030302C5C5C5C22706F6C69636965735C5C5C223A5B7B5C5C5C22747970655C5C5C223A5C5C5C22506F6C6963794578706C616E6174696F6E5C5C5C222C5C5C5C22706F6C6963795C5C5C223A5C5C5C226F75745C5C5C222C5C5C5C2274727574685C5C5C223A5C5C5C2266616C73655C5C5C222C5C5C5C22726561736F6E5C5C5C223A5C5C5C226E6F745F6D65745C5C5C222C5C5C5C2268656C645C5C5C223A5C75303030302C5C5C5C226E65656465645C5C5C223A5C75303030302C5C5C5C22696E5F615F726F775C5C5C223A6E756C6C2C5C5C5C22636F6E646974696F6E735C5C5C223A5B7B5C5C5C22747970655C5C5C223A5C5C5C22436F6E646974696F6E4578706C616E6174696F6E5C5C5C222C5C5C5C22636F6E646974696F6E5C5C5C223A5C5C5C22627573795C5C5C222C5C5C5C22636F756E7465725C5C5C223A5C5C5C226370755C5C5C222C5C5C5C22756E69745C5C5C223A5C5C5C2270657263656E745C5C5C222C5C5C5C226163726F73735C5C5C223A5C5C5C226176675C5C5C222C5C5C5C226167677265676174655C5C5C223A5C5C5C226176675C5C5C222C5C5C5C2277696E646F775C5C5C223A5C75303030302C5C5C5C22636F6D706172655C5C5C223A5C5C5C2261626F76655C5C5C222C5C5C5C227468726573686F6C645C5C5C223A5C75303030302C5C5C5C2274727574685C5C5C223A5C5C5C2266616C73655C5C5C222C5C5C5C2276616C75655C5C5C223A5C75303030302C5C5C5C226C6F775C5C5C223A6E756C6C2C5C5C5C22686967685C5C5C223A6E756C6C2C5C5C5C2268656172645C5C5C223A5C75303030302C5C5C5C2265787065637465645C5C5C223A5C75303030302C5C5C5C226167655C5C5C223A5C75303030302C5C5C5C226C61636B5C5C5C223A6E756C6C2C5C5C5C226C6566745F6F75745C5C5C223A5C75303030302C5C5C5C227065725F6D656D6265725C5C5C223A6E756C6C2C5C5C5C227065725F67726F75705C5C5C223A66616C73657D5D2C5C5C5C2265787072657373696F6E735C5C5C223A5B5D2C5C5C5C22656E6F7567685C5C5C223A6E756C6C2C5C5C5C2274616B656E5C5C5C223A6E756C6C2C5C5C5C2261696D5C5C5C223A6E756C6C2C5C5C5C22666F72657365656E5C5C5C223A6E756C6C2C5C5C5C22666F726563617374735C5C5C223A66616C73657D5D2C5C5C5C22616E73776572735C5C5C223A5B5D2C5C5C5C227175696574735C5C5C223A5B5D2C5C5C5C227369676E616C735C5C5C223A5B5D2C5C5C5C226C656176696E675C5C5C223A5C75303030302C5C5C5C22667265657A65735C5C5C223A5B5D2C5C5C5C2273746162696C6973696E675C5C5C223A6E756C6C2C5C5C5C226C696D6974735C5C5C223A5B5D2C5C5C5C22636F6D696E675C5C5C223A5B5D2C5C5C5C227175657565645C5C5C223A6E756C6C2C5C5C5C2261686561645C5C5C223A6E756C6C2C5C5C5C22666C6565745F70617573655C5C5C223A6E756C6C2C5C5C5C2262617369735C5C5C223A6E756C6C7D5C222C5C225B5C75303030305D5C222C5C225B5C75303030305D5C225D222C225B5C75303030302C5C75303030302C5C75303030302C5C227B5C5C5C22747970655C5C5C223A5C5C5C224578706C616E6174696F6E5C5C5C222C5C5C5C2267726F75705C5C5C223A5C5C5C22776F726B65725C5C5C222C5C5C5C2261745C5C5C223A5C75303030302C5C5C5C226469676573745C5C5C223A5C5C5C22645C75303030305C5C5C222C5C5C5C226D6F64655C5C5C223A5C5C5C226163745C5C5C222C5C5C5C2270617573655C5C5C223A5C5C5C226E6F5C5C5C222C5C5C5C22726561736F6E5C5C5C223A5C5C5C22686F6C64696E675C5C5C222C5C5C5C22646573697265645F66726F6D5C5C5C223A5C75303030302C5C5C5C22646573697265645F746F5C5C5C223A5C75303030302C5C5C5C22616476697365645F746F5C5C5C223A6E756C6C2C5C5C5C226D696E696D756D5C5C5C223A5C75303030302C5C5C5C226D6178696D756D5C5C5C223A5C75303030302C5C5C5C22696E5F736572766963655C5C5C223A5C75303030302C5C5C5C22706F6C69636965735C5C5C223A5B7B5C5C5C22747970655C5C5C223A5C5C5C22506F6C6963794578706C616E6174696F6E5C5C5C222C5C5C5C22706F6C6963795C5C5C223A5C5C5C226F75745C5C5C222C5C5C5C2274727574685C5C5C223A5C5C5C2266616C73655C5C5C222C5C5C5C22726561736F6E5C5C5C223A5C5C5C226E6F745F6D65745C5C5C222C5C5C5C2268656C645C5C5C223A5C75303030302C5C5C5C226E65656465645C5C5C223A5C75303030302C5C5C5C22696E5F615F726F775C5C5C223A6E756C6C2C5C5C5C22636F6E646974696F6E735C5C5C223A5B7B5C5C5C22747970655C5C5C223A5C5C5C22436F6E646974696F6E4578706C616E6174696F6E5C5C5C222C5C5C5C22636F6E646974696F6E5C5C5C223A5C5C5C22627573795C5C5C222C5C5C5C22636F756E7465725C5C5C223A5C5C5C226370755C5C5C222C5C5C5C22756E69745C5C5C223A5C5C5C2270657263656E745C5C5C222C5C5C5C226163726F73735C5C5C223A5C5C5C226176675C5C5C222C5C5C5C226167677265676174655C5C5C223A5C5C5C226176675C5C5C222C5C5C5C2277696E646F775C5C5C223A5C75303030302C5C5C5C22636F6D706172655C5C5C223A5C5C5C2261626F76655C5C5C222C5C5C5C227468726573686F6C645C5C5C223A5C75303030302C5C5C5C2274727574685C5C5C223A5C5C5C2266616C73655C5C5C222C5C5C5C2276616C75655C5C5C223A5C75303030302C5C5C5C226C6F775C5C5C223A6E756C6C2C5C5C5C22686967685C5C5C223A6E756C6C2C5C5C5C2268656172645C5C5C223A5C75303030302C5C5C5C2265787065637465645C5C5C223A5C75303030302C5C5C5C226167655C5C5C223A5C75303030302C5C5C5C226C61636B5C5C5C223A6E756C6C2C5C5C5C226C6566745F6F75745C5C5C223A5C75303030302C5C5C5C227065725F6D656D6265725C5C5C223A6E756C6C2C5C5C5C227065725F67726F75705C5C5C223A66616C73657D5D2C5C5C5C2265787072657373696F6E735C5C5C223A5B5D2C5C5C5C22656E6F7567685C5C5C223A6E756C6C2C5C5C5C2274616B656E5C5C5C223A6E756C6C2C5C5C5C2261696D5C5C5C223A6E756C6C2C5C5C5C22666F72657365656E5C5C5C223A6E756C6C2C5C5C5C22666F726563617374735C5C5C223A66616C73657D5D2C5C5C5C22616E73776572735C5C5C223A5B5D2C5C5C5C227175696574735C5C5C223A5B5D2C5C5C5C227369676E616C735C5C5C223A5B5D2C5C5C5C226C656176696E675C5C5C223A5C75303030302C5C5C5C22667265657A65735C5C5C223A5B5D2C5C5C5C2273746162696C6973696E675C5C5C223A6E756C6C2C5C5C5C226C696D6974735C5C5C223A5B5D2C5C5C5C22636F6D696E675C5C5C223A5B5D2C5C5C5C227175657565645C5C5C223A6E756C6C2C5C5C5C2261686561645C5C5C223A6E756C6C2C5C5C5C22666C6565745F70617573655C5C5C223A6E756C6C2C5C5C5C2262617369735C5C5C223A6E756C6C7D5C222C5C225B5C75303030305D5C222C5C225B5C75303030305D5C225D225D2C22636F6C756D6E73223A5B5B22313730303030303030312E30222C302C2231222C302C322C2233222C352C2232222C223130222C352C22302E30222C223132302E30222C2236302E30222C2238302E30222C372C352C22312E35222C2230222C31375D2C5B22313730303030303230302E3020313730303030303230322E3020313730303030303230342E3020313730303030303230362E30222C302C2231222C302C322C2233222C352C2232222C223130222C352C22302E30222C223132302E30222C2236302E30222C2238302E30222C2235302E30222C372C352C22312E35222C2230222C31382C31342C31345D2C5B22313730303030303230312E3020313730303030303230332E3020313730303030303230352E3020313730303030303230372E30222C302C2231222C302C322C2233222C352C2232222C223130222C352C22302E30222C223132302E30222C2236302E30222C2238302E30222C2235302E30222C372C352C22312E35222C2230222C31382C31342C31345D5D7DC34341F3');
CREATE TABLE spans (
	id INTEGER NOT NULL, 
	group_id TEXT NOT NULL, 
	first_at REAL NOT NULL, 
	last_at REAL NOT NULL, 
	ticks INTEGER NOT NULL, 
	first TEXT NOT NULL, 
	least TEXT NOT NULL, 
	greatest TEXT NOT NULL, 
	CONSTRAINT pk_spans PRIMARY KEY (id)
);
INSERT INTO "spans" VALUES(1,'web',1700000001.0,1700000001.0,1,'{"type":"Explanation","group":"web","at":1700000001.0,"digest":"d1","mode":"act","pause":"no","reason":"scaled_out","desired_from":3,"desired_to":5,"advised_to":null,"minimum":2,"maximum":10,"in_service":3,"policies":[{"type":"PolicyExplanation","policy":"out","truth":"false","reason":"not_met","held":0.0,"needed":120.0,"in_a_row":null,"conditions":[{"type":"ConditionExplanation","condition":"busy","counter":"cpu","unit":"percent","across":"avg","aggregate":"avg","window":60.0,"compare":"above","threshold":80.0,"truth":"false","value":50.0,"low":null,"high":null,"heard":2,"expected":3,"age":1.5,"lack":null,"left_out":0,"per_member":null,"per_group":false}],"expressions":[],"enough":null,"taken":null,"aim":null,"foreseen":null,"forecasts":false}],"answers":[{"type":"AnswerExplanation","request":"alarm-1","cause":"alarm","by":"nagios","reason":"scaled_out","wanted":5,"clamps":[],"until":null}],"quiets":[],"signals":[],"leaving":0,"freezes":[],"stabilising":null,"limits":[],"coming":[],"queued":null,"ahead":null,"fleet_pause":null,"basis":null}','[50.0]','[50.0]');
INSERT INTO "spans" VALUES(3,'web',1700000031.0,1700000061.0,2,'{"type":"Explanation","group":"web","at":1700000031.0,"digest":"d1","mode":"act","pause":"no","reason":"steady","desired_from":5,"desired_to":5,"advised_to":null,"minimum":2,"maximum":10,"in_service":3,"policies":[{"type":"PolicyExplanation","policy":"out","truth":"false","reason":"not_met","held":0.0,"needed":120.0,"in_a_row":null,"conditions":[{"type":"ConditionExplanation","condition":"busy","counter":"cpu","unit":"percent","across":"avg","aggregate":"avg","window":60.0,"compare":"above","threshold":80.0,"truth":"false","value":40.0,"low":null,"high":null,"heard":2,"expected":3,"age":1.5,"lack":null,"left_out":0,"per_member":null,"per_group":false}],"expressions":[],"enough":null,"taken":null,"aim":null,"foreseen":null,"forecasts":false}],"answers":[],"quiets":[],"signals":[],"leaving":0,"freezes":[],"stabilising":null,"limits":[],"coming":[],"queued":null,"ahead":null,"fleet_pause":null,"basis":null}','[40.0]','[60.0]');
INSERT INTO "spans" VALUES(4,'web',1700000008.0,1700000008.0,1,'{"type":"Explanation","group":"web","at":1700000008.0,"digest":"d1","mode":"act","pause":"no","reason":"quiet","desired_from":5,"desired_to":5,"advised_to":null,"minimum":2,"maximum":10,"in_service":3,"policies":[],"answers":[{"type":"AnswerExplanation","request":"p","cause":"person","by":"ada","reason":"quiet","wanted":12,"clamps":[{"type":"Clamp","guard":"at_max","before":12,"after":10}],"until":1700000098.0}],"quiets":[],"signals":[],"leaving":0,"freezes":[],"stabilising":null,"limits":[],"coming":[],"queued":null,"ahead":null,"fleet_pause":null,"basis":null}','[]','[]');
INSERT INTO "spans" VALUES(5,'web',1700000090.0,1700000090.0,1,'{"type":"Explanation","group":"web","at":1700000090.0,"digest":"d1","mode":"act","pause":"no","reason":"steady","desired_from":5,"desired_to":7,"advised_to":null,"minimum":2,"maximum":10,"in_service":3,"policies":[{"type":"PolicyExplanation","policy":"out","truth":"false","reason":"not_met","held":0.0,"needed":120.0,"in_a_row":null,"conditions":[{"type":"ConditionExplanation","condition":"busy","counter":"cpu","unit":"percent","across":"avg","aggregate":"avg","window":60.0,"compare":"above","threshold":80.0,"truth":"false","value":50.0,"low":null,"high":null,"heard":2,"expected":3,"age":1.5,"lack":null,"left_out":0,"per_member":null,"per_group":false}],"expressions":[],"enough":null,"taken":null,"aim":null,"foreseen":null,"forecasts":false}],"answers":[],"quiets":[],"signals":[],"leaving":0,"freezes":[],"stabilising":null,"limits":[],"coming":[],"queued":null,"ahead":null,"fleet_pause":null,"basis":null}','[50.0]','[50.0]');
INSERT INTO "spans" VALUES(14,'worker',1700000208.0,1700000208.0,1,'{"type":"Explanation","group":"worker","at":1700000208.0,"digest":"d1","mode":"act","pause":"no","reason":"steady","desired_from":3,"desired_to":3,"advised_to":null,"minimum":2,"maximum":10,"in_service":3,"policies":[{"type":"PolicyExplanation","policy":"out","truth":"false","reason":"not_met","held":0.0,"needed":120.0,"in_a_row":null,"conditions":[{"type":"ConditionExplanation","condition":"busy","counter":"cpu","unit":"percent","across":"avg","aggregate":"avg","window":60.0,"compare":"above","threshold":80.0,"truth":"false","value":50.0,"low":null,"high":null,"heard":2,"expected":3,"age":1.5,"lack":null,"left_out":0,"per_member":null,"per_group":false}],"expressions":[],"enough":null,"taken":null,"aim":null,"foreseen":null,"forecasts":false}],"answers":[],"quiets":[],"signals":[],"leaving":0,"freezes":[],"stabilising":null,"limits":[],"coming":[],"queued":null,"ahead":null,"fleet_pause":null,"basis":null}','[50.0]','[50.0]');
INSERT INTO "spans" VALUES(15,'api',1700000220.0,1700000220.0,1,'{"type":"Explanation","group":"api","at":1700000220.0,"digest":"d1","mode":"act","pause":"no","reason":"scaled_out","desired_from":3,"desired_to":4,"advised_to":null,"minimum":2,"maximum":10,"in_service":3,"policies":[{"type":"PolicyExplanation","policy":"out","truth":"false","reason":"not_met","held":0.0,"needed":120.0,"in_a_row":null,"conditions":[{"type":"ConditionExplanation","condition":"busy","counter":"cpu","unit":"percent","across":"avg","aggregate":"avg","window":60.0,"compare":"above","threshold":80.0,"truth":"false","value":50.0,"low":null,"high":null,"heard":2,"expected":3,"age":1.5,"lack":null,"left_out":0,"per_member":null,"per_group":false}],"expressions":[],"enough":null,"taken":null,"aim":null,"foreseen":null,"forecasts":false}],"answers":[],"quiets":[],"signals":[],"leaving":0,"freezes":[],"stabilising":null,"limits":[],"coming":[],"queued":null,"ahead":null,"fleet_pause":null,"basis":null}','[50.0]','[50.0]');
CREATE TABLE statements (
	id INTEGER NOT NULL, 
	body BLOB NOT NULL, 
	CONSTRAINT pk_statements PRIMARY KEY (id)
);
INSERT INTO "statements" VALUES(1,X'7801014A00B5FF7B2276616C756573223A5B5B2267726F757073222C22776562222C226D6178222C223130225D5D2C2275736564223A7B22776562223A5B5B2267726F757073222C22776562225D5D7D7D748017A1');
CREATE TABLE states (
	group_id TEXT NOT NULL, 
	member TEXT NOT NULL, 
	state TEXT NOT NULL, 
	at REAL NOT NULL, 
	CONSTRAINT pk_states PRIMARY KEY (group_id, member), 
	CONSTRAINT fk_states_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "states" VALUES('web','web-k3f9ab-1','building',1.5);
CREATE TABLE steps (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	group_id TEXT NOT NULL, 
	at REAL NOT NULL, 
	name TEXT NOT NULL, 
	member TEXT, 
	ended_at REAL, 
	result TEXT, 
	message TEXT NOT NULL
);
INSERT INTO "steps" VALUES(1,'web',1700000003.0,'create','web-k3f9ab-1',1700000004.5,'done','');
INSERT INTO "steps" VALUES(2,'web',1700000005.0,'create','web-k3f9ab-2',NULL,NULL,'');
CREATE TABLE tokens (
	user_name TEXT NOT NULL, 
	name TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	old_digest TEXT, 
	old_expires_at REAL, 
	groups TEXT, 
	verbs TEXT, 
	created_at REAL NOT NULL, 
	expires_at REAL, 
	last_used_at REAL, 
	CONSTRAINT pk_tokens PRIMARY KEY (user_name, name), 
	CONSTRAINT fk_tokens_user_name_users FOREIGN KEY(user_name) REFERENCES users (name) ON DELETE CASCADE
);
INSERT INTO "tokens" VALUES('ada','word','word','word',1.5,'["word"]','["read"]',1.5,1.5,1.5);
CREATE TABLE users (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	groups TEXT, 
	created_at REAL NOT NULL, 
	disabled_at REAL, uuid TEXT DEFAULT '' NOT NULL, account TEXT DEFAULT 'root' NOT NULL, display_name TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_users PRIMARY KEY (name)
);
INSERT INTO "users" VALUES('ada','viewer','["word"]',1.5,1.5,'word','word','word');
CREATE TABLE workers (
	name TEXT NOT NULL, 
	process TEXT NOT NULL, 
	url TEXT NOT NULL, 
	version TEXT NOT NULL, 
	started_at REAL NOT NULL, 
	seen_at REAL NOT NULL, 
	problem TEXT NOT NULL, priority INTEGER DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_workers PRIMARY KEY (name)
);
INSERT INTO "workers" VALUES('a','p1','http://a:8460','1',90.0,94.0,'',0);
CREATE INDEX ix_members_phase ON members (phase);
CREATE INDEX ix_members_intended_at ON members (intended_at);
CREATE INDEX ix_steps_group_id_at ON steps (group_id, at);
CREATE INDEX ix_steps_at ON steps (at);
CREATE INDEX ix_decisions_group_id_at ON decisions (group_id, at);
CREATE INDEX ix_decisions_at ON decisions (at);
CREATE INDEX ix_notes_group_id_at ON notes (group_id, at);
CREATE INDEX ix_notes_at ON notes (at);
CREATE INDEX ix_answers_at ON answers (at);
CREATE INDEX ix_spans_group_id_first_at ON spans (group_id, first_at);
CREATE INDEX ix_spans_group_id ON spans (group_id);
CREATE INDEX ix_spans_last_at ON spans (last_at);
CREATE INDEX ix_deliveries_last_at ON deliveries (last_at);
CREATE INDEX ix_notices_group_id ON notices (group_id);
CREATE INDEX ix_notices_next_at ON notices (next_at);
CREATE INDEX ix_steps_open ON steps (group_id) WHERE result IS NULL;
CREATE INDEX ix_edits_group_id_at ON edits (group_id, at);
CREATE INDEX ix_givens_at ON givens (at);
CREATE INDEX ix_span_blocks_group_id_first_at ON span_blocks (group_id, first_at);
CREATE INDEX ix_span_blocks_last_at ON span_blocks (last_at);
CREATE INDEX ix_audit_at ON audit (at);
CREATE INDEX ix_keyed_calls_at ON keyed_calls (at);
CREATE INDEX ix_cloudstack_jobs_ended_at ON cloudstack_jobs (ended_at);
CREATE INDEX ix_decision_blocks_group_id_first_at ON decision_blocks (group_id, first_at);
CREATE INDEX ix_decision_blocks_last_at ON decision_blocks (last_at);
CREATE INDEX ix_given_blocks_group_id_first_at ON given_blocks (group_id, first_at);
CREATE INDEX ix_given_blocks_last_at ON given_blocks (last_at);
CREATE INDEX ix_givens_group_id ON givens (group_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('steps',2);
COMMIT;
