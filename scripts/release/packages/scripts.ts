// The actions of packages besides installing files: systemd reads its units again, an upgrade restarts the running clusters, a
// removal stops them, and a purge removes all configuration. Pure.

const onSystemd = (...commands: readonly string[]): string =>
  `if [ -d /run/systemd/system ]; then\n${commands.map((command) => `  ${command} || true\n`).join("")}fi\n`;

const reload = "systemctl daemon-reload";
const restart = "systemctl try-restart 'fairlead@*.service'";
const stop = "systemctl stop 'fairlead@*.service'";

/** Clusters that were enabled, and changes of the unit. */
const leftovers =
  "rm -rf /etc/systemd/system/multi-user.target.wants/fairlead@*.service /etc/systemd/system/fairlead@*.service.d\n";

const shell = (...parts: readonly string[]): string => `#!/bin/sh\nset -e\n${parts.join("")}`;

/** The template of the configuration file in a Debian package. */
export const templatePath = (program: string): string => `usr/share/${program}/environment`;

/** Configures the first installation, unless the file of an earlier one was kept. */
const configure = (program: string): string =>
  `  if [ ! -e /etc/fairlead/environment ] && [ -z "$2" ]; then\n    install -m 0600 /${templatePath(program)} /etc/fairlead/environment\n  fi\n`;

export const debianScripts = (program: string) => ({
  postinst: shell(`if [ "$1" = configure ]; then\n${configure(program)}${onSystemd(reload, restart)}fi\n`),
  prerm: shell(`if [ "$1" = remove ]; then\n${onSystemd(stop)}fi\n`),
  postrm: shell(
    `if [ "$1" = purge ]; then\n  rm -rf /etc/fairlead\n  ${leftovers}fi\n`,
    `if [ "$1" = remove ] || [ "$1" = purge ]; then\n${onSystemd(reload)}fi\n`,
  ),
});

/** The number of installed packages after the transaction is in $1. */
export const rpmScripts = {
  post: `${onSystemd(reload, restart)}`,
  preun: `if [ "$1" = 0 ]; then\n${onSystemd(stop)}  ${leftovers}fi\n`,
  postun: onSystemd(reload),
} as const;
