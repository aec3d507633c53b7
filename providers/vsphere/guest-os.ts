// The names of guest operating systems in instance types, as the Go manager writes them. Pure.

/**
 * vSphere's guest OS ids, without the suffix `Guest`. The name is the id without `_64`, unless a name follows the id. Newer systems
 * have no name in the Go manager, and adding one would change the type of existing Nodes.
 */
const known = `
  asianux3 asianux3_64 asianux4 asianux4_64 asianux5_64 asianux7_64 centos centos6 centos64 centos6_64
  centos7 centos7_64 coreos64=coreos darwin darwin10=darwin darwin10_64=darwin darwin11=darwin
  darwin11_64=darwin darwin12_64=darwin darwin13_64=darwin darwin14_64=darwin darwin15_64=darwin
  darwin16_64=darwin darwin64=darwin debian10 debian10_64 debian4 debian4_64 debian5 debian5_64
  debian6 debian6_64 debian7 debian7_64 debian8 debian8_64 debian9 debian9_64 dos eComStation
  eComStation2 fedora fedora64=fedora freebsd freebsd64=freebsd genericLinux=linux mandrake mandriva
  mandriva64=mandriva netware4 netware5 netware6 nld9 oes openServer5 openServer6 opensuse
  opensuse64=opensuse oracleLinux oracleLinux6 oracleLinux64=oracleLinux oracleLinux6_64 oracleLinux7
  oracleLinux7_64 os2 other other24xLinux64=linux other24xLinux=linux other26xLinux64=linux
  other26xLinux=linux other3xLinux64=linux other3xLinux=linux otherGuest64=other otherLinux64=linux
  otherLinux=linux redhat=rhel rhel2 rhel3 rhel3_64 rhel4 rhel4_64 rhel5 rhel5_64 rhel6 rhel6_64 rhel7
  rhel7_64 sjds sles sles10 sles10_64 sles11 sles11_64 sles12 sles12_64 sles64 solaris10 solaris10_64
  solaris11_64 solaris6 solaris7 solaris8 solaris9 suse suse64=suse turboLinux64=turbolinux
  turboLinux=turbolinux ubuntu ubuntu64=ubuntu unixWare7=unixware7 vmkernel vmkernel5 vmkernel6
  vmkernel65 vmwarePhoton64=photon win2000AdvServ=win2000advserv win2000Pro=win2000pro
  win2000Serv=win2000serv win31 win95 win98 windows7=win7 windows7_64=win7 windows7Server64=win7server
  windows8=win8 windows8_64=win8 windows8Server64=win8server windows9=win10 windows9_64=win10
  windows9Server64=win10server windowsHyperV=windowshyperv winLonghorn64=winlonghorn
  winLonghorn=winlonghorn winMe=winme winNetBusiness=winnetbusiness
  winNetDatacenter64=winnetdatacenter winNetDatacenter=winnetdatacenter
  winNetEnterprise64=winnetenterprise winNetEnterprise=winnetenterprise
  winNetStandard64=winnetstandard winNetStandard=winnetstandard winNetWeb=winnetweb winNT=winnt
  winVista64=winvista winVista=winvista winXPHome=winxphome winXPPro64=winxppro winXPPro=winxppro`;

const names: ReadonlyMap<string, string> = new Map(
  known
    .trim()
    .split(/\s+/)
    .map((entry) => {
      const [id = "", name = id.replace(/_64$/, "")] = entry.split("=");
      return [id, name];
    }),
);

/** The name for the guest id of a machine, for example `ubuntu` for `ubuntu64Guest`. */
export const guestNameOf = (id: string | undefined): string =>
  names.get((id ?? "").replace(/Guest$/, "")) ?? "unknown";
