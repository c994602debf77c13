package home

import "path/filepath"

// cache is a place where tools keep what they can fetch or make again.
type cache struct {
	variable string   // that names the place; empty if none does
	dir      string   // where it is if the variable does not say, from the home directory
	parts    []string // what is a cache there, if not all of it
	always   bool     // the variable is set even if the user does not: the tool's settings could name another place, or it does not go by HOME
}

// caches are those of common tools. A tool that is not here and goes by HOME or the XDG
// variables has its cache in the check's own home as well.
var caches = []cache{
	{variable: "XDG_CACHE_HOME", dir: ".cache", always: true},
	{variable: "XDG_STATE_HOME", dir: ".local/state", always: true},
	{variable: "GOCACHE", dir: ".cache/go-build", always: true},
	{variable: "GOMODCACHE", dir: "go/pkg/mod", always: true},
	{variable: "GOLANGCI_LINT_CACHE", dir: ".cache/golangci-lint"},
	{variable: "STATICCHECK_CACHE", dir: ".cache/staticcheck"},
	{variable: "npm_config_cache", dir: ".npm", always: true},
	{variable: "npm_config_store_dir", dir: ".local/share/pnpm/store"},
	{variable: "YARN_CACHE_FOLDER", dir: ".cache/yarn"},
	{variable: "YARN_GLOBAL_FOLDER", dir: ".yarn/berry"},
	{variable: "BUN_INSTALL_CACHE_DIR", dir: ".bun/install/cache", always: true},
	{variable: "COREPACK_HOME", dir: ".cache/node/corepack"},
	{variable: "DENO_DIR", dir: ".cache/deno"},
	{variable: "PLAYWRIGHT_BROWSERS_PATH", dir: ".cache/ms-playwright"},
	{variable: "PUPPETEER_CACHE_DIR", dir: ".cache/puppeteer"},
	{variable: "CYPRESS_CACHE_FOLDER", dir: ".cache/Cypress"},
	{variable: "ELECTRON_CACHE", dir: ".cache/electron"},
	{variable: "PIP_CACHE_DIR", dir: ".cache/pip", always: true},
	{variable: "UV_CACHE_DIR", dir: ".cache/uv", always: true},
	{variable: "POETRY_CACHE_DIR", dir: ".cache/pypoetry"},
	{variable: "PIPENV_CACHE_DIR", dir: ".cache/pipenv"},
	{variable: "PDM_CACHE_DIR", dir: ".cache/pdm"},
	{variable: "CONDA_PKGS_DIRS", dir: ".conda/pkgs"},
	{variable: "PYTHONPYCACHEPREFIX", dir: ".cache/pycache"},
	{variable: "PRE_COMMIT_HOME", dir: ".cache/pre-commit"},
	{variable: "HF_HOME", dir: ".cache/huggingface"},
	{variable: "TORCH_HOME", dir: ".cache/torch"},
	{variable: "CARGO_HOME", dir: ".cargo", parts: []string{"registry", "git"}, always: true},
	{variable: "CARGO_TARGET_DIR", dir: ".cache/cargo-target"},
	{variable: "SCCACHE_DIR", dir: ".cache/sccache"},
	{variable: "CCACHE_DIR", dir: ".cache/ccache"},
	{dir: ".ccache"},
	{variable: "ZIG_GLOBAL_CACHE_DIR", dir: ".cache/zig"},
	{variable: "GRADLE_USER_HOME", dir: ".gradle", parts: []string{"caches", "daemon", "native", "wrapper"}, always: true},
	{variable: "MAVEN_USER_HOME", dir: ".m2", parts: []string{"repository", "wrapper"}, always: true},
	{variable: "COURSIER_CACHE", dir: ".cache/coursier/v1", always: true},
	{variable: "NUGET_PACKAGES", dir: ".nuget/packages"},
	{variable: "COMPOSER_CACHE_DIR", dir: ".cache/composer"},
	{variable: "BUNDLE_USER_CACHE", dir: ".bundle/cache"},
	{variable: "BAZELISK_HOME", dir: ".cache/bazelisk"},
	{variable: "TF_PLUGIN_CACHE_DIR", dir: ".cache/terraform"},
	{variable: "HELM_CACHE_HOME", dir: ".cache/helm"},
}

// moved are directories that are the check's own, and whose counterparts of the user's are
// not only caches: they are not hidden.
var moved = []struct{ variable, dir string }{
	{"HOME", ""}, {"XDG_CONFIG_HOME", ".config"}, {"XDG_DATA_HOME", ".local/share"}, {"GOPATH", "go"},
}

// roots are where tools themselves, and logins, lie in the user's home directory. They are
// used where they are: the variable is set if the user's environment does not have it and
// the place is there.
var roots = []struct{ variable, dir string }{
	{"RUSTUP_HOME", ".rustup"}, {"PYENV_ROOT", ".pyenv"}, {"RBENV_ROOT", ".rbenv"}, {"NODENV_ROOT", ".nodenv"}, {"GOENV_ROOT", ".goenv"},
	{"JENV_ROOT", ".jenv"}, {"NVM_DIR", ".nvm"}, {"FNM_DIR", ".local/share/fnm"}, {"VOLTA_HOME", ".volta"}, {"PNPM_HOME", ".local/share/pnpm"},
	{"BUN_INSTALL", ".bun"}, {"DENO_INSTALL", ".deno"}, {"ASDF_DATA_DIR", ".asdf"}, {"MISE_DATA_DIR", ".local/share/mise"},
	{"SDKMAN_DIR", ".sdkman"}, {"DOTNET_ROOT", ".dotnet"}, {"OPAMROOT", ".opam"}, {"ELAN_HOME", ".elan"}, {"MIX_HOME", ".mix"},
	{"PIPX_HOME", ".local/share/pipx"}, {"UV_TOOL_DIR", ".local/share/uv/tools"}, {"UV_PYTHON_INSTALL_DIR", ".local/share/uv/python"},
	{"PYTHONUSERBASE", ".local"}, {"ANDROID_HOME", "Android/Sdk"},
	{"DOCKER_CONFIG", ".docker"}, {"KUBECONFIG", ".kube/config"}, {"GNUPGHOME", ".gnupg"}, {"GH_CONFIG_DIR", ".config/gh"},
	{"AWS_CONFIG_FILE", ".aws/config"}, {"AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"},
	{"AZURE_CONFIG_DIR", ".azure"}, {"CLOUDSDK_CONFIG", ".config/gcloud"},
}

// settings are files of the user's that a check may need to reach a private registry, or to
// commit. It gets copies.
var settings = []string{
	".gitconfig", ".git-credentials", ".config/git/config", ".config/git/ignore", ".config/git/attributes", ".config/git/credentials",
	".netrc", ".curlrc", ".config/go/env",
	".npmrc", ".yarnrc", ".yarnrc.yml", ".config/pnpm/rc", ".bunfig.toml",
	".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml", ".config/pypoetry/config.toml", ".config/pypoetry/auth.toml", ".condarc",
	".cargo/config", ".cargo/config.toml", ".cargo/credentials.toml", ".gradle/gradle.properties", ".gradle/init.gradle", ".gradle/init.gradle.kts",
	".bundle/config", ".gemrc", ".nuget/NuGet/NuGet.Config", ".config/composer/config.json", ".config/composer/auth.json", ".terraformrc",
	".tool-versions", ".asdfrc", ".config/mise/config.toml",
}

// own is where a directory of the user's home has its counterpart.
func own(home, dir string) string { return filepath.Join(home, filepath.FromSlash(dir)) }
