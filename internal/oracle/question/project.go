package question

// aboutProject has words of the project's own sphere, which tell that a question
// is about code or documents and leave open which.
var aboutProject = []line{
	{Points{Code: 3, Documentation: 3, Research: -2}, `
		we, our, us, project,
		this project|repo|repository|codebase|app|tool|library|package|program|module|service|thing,
		the project|repo|repository|codebase|app|tool|program|service|team|system|product`},
	// Programs and how they are run.
	{Points{Code: 3, Documentation: 3}, `
		server, client, service, microservice, daemon, worker, job, cron, queue, cache, caching, database,
		migration, schema, query, transaction, orm, replica, shard, cluster, node, failover, load balancer,
		proxy, firewall, vpn, dns, domain, subdomain, port, localhost, ssl, tls, ssh, certificate, container,
		docker, deployment, deploy, staging, production, prod, sandbox, environment, environment variable,
		startup, uptime, health check, rate limit, timeout, retry, retries, back pressure, connection, socket,
		pool, stream, batch, snapshot, backup, restore, storage, bucket, volume, telemetry, metric, tracing,
		log, logging, logger, audit log, secret, credential, token, api key, access key, software, subsystem,
		component`},
	// How they are made.
	{Points{Code: 3, Documentation: 3}, `
		repo, repository, module, package, dependency, dependencies, release, hotfix, build, ci, pipeline,
		artifact, branch, fork, upstream, merge, pull request, pr, git, tests, test suite, linter, editor,
		manifest, registry, lock file, installer, updater, deploy script, install script, wasm, localisation,
		localization, accessibility, checksum, encoding, uuid, id, timestamp, time zone, timezone, utc, locale`},
	// What their users meet.
	{Points{Code: 3, Documentation: 3}, `
		plugin, extension, hook, theme, dark mode, config, configuration, command, subcommand, cli, flag, shell,
		terminal, zsh, bash, stdin, shortcut, keyboard, api, webhook, endpoint, request, response, payload,
		event, subscriber, topic, session, cookie, auth, authentication, login, signup, sso, checkout, cart,
		user, username, password, permission, role, admin, dashboard, notification, export, import, upload, csv,
		index, search results, ranking, pagination, filter, sorting, toggle, feature flag, widget, layout,
		sidebar, navbar, footer, banner, tooltip, modal, form, field, avatar, thumbnail, image, url, link,
		redirect, view, error message, error code, error handling, crash report, status page, app, website,
		homepage, landing page, debug symbols|output|mode, root user|access, file format`},
}
