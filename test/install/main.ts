import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { BUNDLERS, BUNDLES, makeBundle, writeBundled } from './bundles.ts'
import { Cluster } from './cluster.ts'
import { succeed } from './command.ts'
import { npm, type PackageManager, pnpm, yarnClassic, yarnPnp } from './package-manager.ts'
import { checkRunbooks } from './monitoring.ts'
import { Project } from './project.ts'
import { checkOwnCopies, OWN_COPIES } from './own-copies.ts'
import { readmeInstall } from './readme-example.ts'
import { checkRuntimes, RUNTIMES } from './runtimes.ts'
import { packAll, type Tarballs } from './tarballs.ts'

/*
 * Installs the packages as they would be published into new projects, type-checks the program of the README there and runs it
 * against an embedded API server: on every supported Node, on Bun and Deno, with every package manager, on both ends of the range of
 * every dependency.
 * `--long` tries all combinations and the bundlers; without it, every Node, manager and version is tried once.
 */
const { values } = parseArgs({ options: { long: { type: 'boolean', default: false }, only: { type: 'string' } } })

const PEER = '@kubernetes/client-node'
const NEWEST = '^2.0.0'
/** The low end of every range that a package of Tenure asks for. */
const OLDEST = { [PEER]: '2.0.0', 'prom-client': '15.0.0', fastify: '5.0.0', pino: '10.0.0' }
const SUPPORTED = ['22', '24', '26']
const TOO_OLD = '20'

const temporary = await mkdtemp(join(tmpdir(), 'tenure-install-'))
const failures: string[] = []
let projects = 0

async function check(name: string, body: () => Promise<void>): Promise<void> {
  if (values.only !== undefined && !name.includes(values.only)) return
  const began = performance.now()
  try {
    await body()
    console.log(`passed  ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`)
  } catch (error) {
    failures.push(name)
    console.log(`FAILED  ${name}\n${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The program of a Node of this major version. */
async function nodeOf(major: string): Promise<string> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  const args = ['-y', `node@${major}`, '-p', 'process.execPath']
  return (await succeed('npx', args, { cwd: temporary })).trim().split('\n').at(-1) ?? ''
}

interface Combination {
  readonly manager: PackageManager
  readonly clientNode: string
  readonly held?: Readonly<Record<string, string>>
  readonly more?: Readonly<Record<string, string>>
}

const wantedBy = ({ clientNode, held = {}, more = {} }: Omit<Combination, 'manager'>) => ({
  dependencies: {
    ...Object.fromEntries(readmeInstall().map((name) => [name, name === PEER ? clientNode : 'tarball'])),
    ...more,
  },
  held,
})

async function install(combination: Combination, tarballs: Tarballs): Promise<Project> {
  const folder = join(temporary, `project-${++projects}`)
  const { project, outcome } = await Project.install(folder, combination.manager, {
    wanted: wantedBy(combination),
    tarballs,
  })
  if (outcome.code !== 0) throw new Error(`the installation ended with code ${outcome.code}:\n${outcome.output}`)
  return project
}

const hasFolder = ({ name }: PackageManager) => name !== yarnPnp.name

/** A project that installs, compiles and leads. Returns it for more to be run there. */
async function works(combination: Combination, context: { readonly tarballs: Tarballs; readonly cluster: Cluster }) {
  const project = await install(combination, context.tarballs)
  if (hasFolder(combination.manager)) await project.checkTypes()
  await project.lead(process.execPath, context.cluster)
  return project
}

/** A Node that is too old says so in one line, whatever is imported. */
async function refusesOldNode(project: Project): Promise<void> {
  const node = await nodeOf(TOO_OLD)
  for (const name of readmeInstall().filter((name) => name !== PEER)) {
    const file = 'import.mjs'
    await writeFile(join(project.folder, file), `import '${name}'\n`)
    const { code, output } = await project.run(node, file)
    const lines = output.split('\n').filter((line) => line.includes('Error'))
    if (code !== 1 || lines.length !== 1 || !/Tenure needs Node 22\.19 or later, but this is Node 20\./.test(output)) {
      throw new Error(`Expected one line about the version of Node from \`import '${name}'\`, got:\n${output}`)
    }
    if (/\n\s+at /.test(output)) throw new Error(`Expected no stack, got:\n${output}`)
  }
}

/** Version 1 of client-node does not install, and where it is forced upon Tenure, one error says why it does not run. */
async function refusesVersion1(tarballs: Tarballs): Promise<void> {
  const folder = join(temporary, `project-${++projects}`)
  const wanted = wantedBy({ clientNode: '1.4.0' })
  const { project, outcome } = await Project.install(folder, npm, { wanted, tarballs })
  if (outcome.code === 0 || !outcome.output.includes('ERESOLVE')) {
    throw new Error(`Expected npm to refuse client-node 1.4.0, got:\n${outcome.output}`)
  }
  await succeed('npm', ['install', '--legacy-peer-deps', '--no-audit', '--no-fund'], { cwd: folder })
  await using cluster = await Cluster.start()
  const KUBECONFIG = join(folder, 'kubeconfig')
  await cluster.server.writeKubeConfig(KUBECONFIG)
  const { code, output } = await project.run(process.execPath, 'main.ts', { KUBECONFIG, TENURE_OPS_PORT: '0' })
  if (code !== 2 || !output.includes('got one of version 1. Install @kubernetes/client-node@^2.0.0')) {
    throw new Error(`Expected exit code 2 and one error about version 1, got ${code}:\n${output}`)
  }
}

try {
  const tarballs = await packAll(temporary)
  await using cluster = await Cluster.start()
  const context = { tarballs, cluster }
  const others = SUPPORTED.filter((major) => !process.versions.node.startsWith(`${major}.`))
  const oldest = { clientNode: OLDEST[PEER] ?? '', held: OLDEST }

  await check('npm, the newest client-node, every Node', async () => {
    const project = await works({ manager: npm, clientNode: NEWEST }, context)
    for (const major of others) await project.lead(await nodeOf(major), cluster)
    await refusesOldNode(project)
    checkRunbooks(project.folder)
  })
  await check(
    'npm, the oldest of all dependencies',
    async () => void (await works({ manager: npm, ...oldest }, context)),
  )
  await check('Bun and Deno', async () => {
    const project = await install({ manager: npm, clientNode: NEWEST, more: RUNTIMES }, tarballs)
    await checkRuntimes(project, cluster)
  })
  for (const more of OWN_COPIES) {
    const copies = Object.entries(more).map(([name, version]) => `${name} ${version}`)
    await check(`${copies.join(' and ')} of the project's own`, async () => {
      await checkOwnCopies(await install({ manager: npm, clientNode: NEWEST, more }, tarballs))
    })
  }
  await check('npm refuses client-node 1.4', () => refusesVersion1(tarballs))
  for (const manager of [pnpm, yarnClassic, yarnPnp]) {
    await check(`${manager.name}, the newest client-node`, async () => {
      const project = await works({ manager, clientNode: NEWEST }, context)
      if (!values.long) return
      for (const major of others) await project.lead(await nodeOf(major), cluster)
      await refusesOldNode(project)
    })
    if (!values.long) continue
    await check(`${manager.name}, the oldest of all dependencies`, async () => {
      const project = await works({ manager, ...oldest }, context)
      for (const major of others) await project.lead(await nodeOf(major), cluster)
    })
  }
  if (values.long) {
    await check('bundles', async () => {
      const project = await install({ manager: npm, clientNode: NEWEST, more: BUNDLERS }, tarballs)
      await writeBundled(project.folder)
      for (const bundle of BUNDLES) {
        await makeBundle(project.folder, bundle)
        await project.lead(process.execPath, cluster, bundle.file)
        console.log(`        ${bundle.name} leads`)
      }
    })
  }
} finally {
  await rm(temporary, { recursive: true, force: true, maxRetries: 5 })
}
console.log(failures.length === 0 ? 'every installation works' : `${failures.length} failed: ${failures.join('; ')}`)
if (failures.length > 0) process.exitCode = 1
