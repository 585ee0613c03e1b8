import { createHash } from 'node:crypto'
import { access, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { withBuildLock } from './build-lock.ts'
import { assertGo, runGo } from './go-command.ts'
import { type KubernetesVersion, wantedVersions } from './kubernetes-version.ts'

/**
 * A program of the Go module in this folder: the parts of a real control plane, the leader election peers that a
 * replica has to get along with, the decisions of one of them, kubectl, what prints the shapes of the
 * kinds that the embedded API server serves, a proxy that injects TCP faults, and the tool that tests rules of Prometheus.
 */
export type Program =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kubectl'
  | 'kind-shapes'
  | 'client-go-candidate'
  | 'client-go-decisions'
  | 'client-go-elector'
  | 'client-go-1.33-elector'
  | 'controller-runtime-manager'
  | 'operator-lib-leader'
  | 'promtool'
  | 'toxiproxy'

/** Every program, quickest to build first. */
export const programs: readonly Program[] = [
  'client-go-elector',
  'client-go-candidate',
  'client-go-decisions',
  'client-go-1.33-elector',
  'toxiproxy',
  'kubectl',
  'kind-shapes',
  'promtool',
  'etcd',
  'controller-runtime-manager',
  'operator-lib-leader',
  'kube-apiserver',
  'kube-controller-manager',
]

/** The programs of which each version of Kubernetes has its own. */
const servers: readonly Program[] = ['etcd', 'kube-apiserver', 'kube-controller-manager']

const PROMTOOL = 'github.com/prometheus/prometheus/cmd/promtool'

const moduleFolder = import.meta.dirname

/** What a program is built from: its folder in `cmd` or the package of a dependency, and the file with its dependencies. */
interface Source {
  readonly command: string
  readonly modFile: string
  readonly tags?: string
}

function sourceOf(program: Program, version: KubernetesVersion): Source {
  // The last client-go that cannot release a lease which somebody else has written since its last renewal.
  if (program === 'client-go-1.33-elector') return { command: 'client-go-elector', modFile: 'client-go-1.33.mod' }
  // The tags leave out the clients of all clouds, which only service discovery needs.
  if (program === 'promtool') {
    return { command: PROMTOOL, modFile: 'prometheus.mod', tags: 'remove_all_sd' }
  }
  // operator-lib is no part of what the servers are built from.
  if (program === 'operator-lib-leader') return { command: program, modFile: 'operator-lib.mod' }
  const isNewer = version === '1.37.2' && servers.includes(program)
  return { command: program, modFile: isNewer ? 'kubernetes-1.37.mod' : 'go.mod' }
}

/**
 * Returns the path of a program's executable, and builds it first if no earlier run has. `version` is of the servers; every other
 * program exists once.
 *
 * Executables are kept outside of the repository, in `$XDG_CACHE_HOME/tenure/control-plane` (`~/.cache` by default),
 * under a name derived from everything that goes into them. `KUBEBUILDER_ASSETS`, a folder that holds `etcd` and
 * `kube-apiserver`, takes the place of building those two. Building `kube-apiserver` for the first time takes minutes
 * and downloads a gigabyte of Go modules. May be called from several processes at once.
 *
 * @throws Error when Go is missing or too old, when the build fails, or when `KUBEBUILDER_ASSETS` lacks the program.
 */
export async function locateProgram(program: Program, version: KubernetesVersion = '1.36.3'): Promise<string> {
  return (await locateAsset(program)) ?? (await locateBuilt(program, sourceOf(program, version)))
}

async function locateAsset(program: Program): Promise<string | undefined> {
  const folder = process.env['KUBEBUILDER_ASSETS']
  if (!folder || (program !== 'etcd' && program !== 'kube-apiserver')) return undefined
  const file = join(folder, program)
  if (await exists(file)) return file
  throw new Error(`Expected KUBEBUILDER_ASSETS to be a folder that holds ${program}, got \`${folder}\``)
}

async function locateBuilt(program: Program, source: Source): Promise<string> {
  const linkerFlags = await resolveLinkerFlags(source)
  const folder = join(cacheFolder(), `${program}-${await fingerprint(source, linkerFlags)}`)
  const file = join(folder, program)
  if (await exists(file)) return file
  await mkdir(folder, { recursive: true })
  return await withBuildLock(`${folder}.lock`, async () => {
    if (!(await exists(file))) await build({ program, source, linkerFlags, file })
    return file
  })
}

async function build(options: { program: Program; source: Source; linkerFlags: string; file: string }): Promise<void> {
  const { program, source, linkerFlags, file } = options
  await assertGo(moduleFolder)
  process.stderr.write(`Building ${program} (${program.startsWith('kube-') ? 'takes minutes' : 'takes a while'}).\n`)
  // The rename is what makes the executable appear at once and whole.
  const unfinished = `${file}.${process.pid}`
  try {
    const flags = ['-trimpath', '-buildvcs=false', `-ldflags=${linkerFlags}`, `-modfile=${source.modFile}`]
    if (source.tags !== undefined) flags.push(`-tags=${source.tags}`)
    const isDependency = source.command.includes('/')
    const target = isDependency ? source.command : `./cmd/${source.command}`
    await runGo(['build', ...flags, '-o', unfinished, target], moduleFolder)
    await rename(unfinished, file)
  } finally {
    await rm(unfinished, { force: true })
  }
}

/** Stripped, and with the version that the servers would otherwise take from their own repository. */
async function resolveLinkerFlags({ modFile }: Source): Promise<string> {
  const goMod = await readFile(join(moduleFolder, modFile), 'utf8')
  const [, version, major, minor] = /^\tk8s\.io\/kubernetes (v(\d+)\.(\d+)\.\d+)$/m.exec(goMod) ?? []
  // A program of an older client-go has no such version.
  if (version === undefined) return '-s -w'
  const variables = { gitVersion: version, gitMajor: major, gitMinor: minor }
  const definitions = Object.entries(variables).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  )
  return ['-s', '-w', ...definitions].join(' ')
}

async function fingerprint({ command, modFile, tags = '' }: Source, linkerFlags: string): Promise<string> {
  const hash = createHash('sha256').update(linkerFlags).update(tags)
  for (const source of [modFile, modFile.replace(/mod$/, 'sum'), ...(await sourcesOf(command))]) {
    hash.update(`\0${source}\0`).update(await readFile(join(moduleFolder, source)))
  }
  return hash.digest('hex').slice(0, 16)
}

async function sourcesOf(command: string): Promise<string[]> {
  if (command.includes('/')) return []
  const folders = [join('cmd', command), 'internal']
  const found = folders.map(async (folder) => {
    const names = await readdir(join(moduleFolder, folder), { recursive: true })
    return names.filter((name) => /\.(go|s)$/.test(name)).map((name) => join(folder, name))
  })
  return (await Promise.all(found)).flat().toSorted()
}

function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'tenure', 'control-plane')
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [first, ...others] = wantedVersions()
  for (const program of programs) console.log(await locateProgram(program, first))
  for (const version of others) {
    for (const program of servers) console.log(await locateProgram(program, version))
  }
}
