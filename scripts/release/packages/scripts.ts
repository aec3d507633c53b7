// What packages do besides installing files: systemd reads its units again, an upgrade restarts the running clusters, a removal
// stops them, and a purge removes all configuration. Pure.

const onSystemd = (...commands: readonly string[]): string =>
  `if [ -d /run/systemd/system ]; then\n${commands.map((command) => `  ${command} || true\n`).join("")}fi\n`;

const reload = "systemctl daemon-reload";
const restart = "systemctl try-restart 'fairlead@*.service'";
const stop = "systemctl stop 'fairlead@*.service'";

/** Clusters that were enabled, and changes of the unit. */
const leftovers =
  "rm -rf /etc/systemd/system/multi-user.target.wants/fairlead@*.service /etc/systemd/system/fairlead@*.service.d\n";

const shell = (...parts: readonly string[]): string => `#!/bin/sh\nset -e\n${parts.join("")}`;

export const debianScripts = {
  postinst: shell(`if [ "$1" = configure ]; then\n${onSystemd(reload, restart)}fi\n`),
  prerm: shell(`if [ "$1" = remove ]; then\n${onSystemd(stop)}fi\n`),
  postrm: shell(
    `if [ "$1" = purge ]; then\n  rm -rf /etc/fairlead\n  ${leftovers}fi\n`,
    `if [ "$1" = remove ] || [ "$1" = purge ]; then\n${onSystemd(reload)}fi\n`,
  ),
} as const;

/** The number of installed packages after the transaction is in $1. */
export const rpmScripts = {
  post: `${onSystemd(reload, restart)}`,
  preun: `if [ "$1" = 0 ]; then\n${onSystemd(stop)}  ${leftovers}fi\n`,
  postun: onSystemd(reload),
} as const;
