import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run, type Outcome } from './command.ts'
import { plainEnvironment } from './environment.ts'
import type { Tarballs } from './tarballs.ts'

/** What a project asks for. */
export interface Wanted {
  /** Versions by name; `tarball` for a package of Tenure. */
  readonly dependencies: Readonly<Record<string, string>>
  /** Versions that packages further down are held to. */
  readonly held?: Readonly<Record<string, string>>
}

/** Installs a project, and starts Node in it. */
export interface PackageManager {
  readonly name: string
  /** Writes `package.json` and installs. */
  install(folder: string, wanted: Wanted, tarballs: Tarballs): Promise<Outcome>
  /** What Node is started with so that it finds what was installed. */
  readonly nodeArgs: (folder: string) => readonly string[]
}

type Manifest = Readonly<Record<string, unknown>>

const manifest = (wanted: Wanted, tarballs: Tarballs): { base: Manifest; held: Readonly<Record<string, string>> } => {
  const files = Object.fromEntries([...tarballs].map(([name, file]) => [name, `file:${file}`]))
  const dependencies = Object.fromEntries(
    Object.entries(wanted.dependencies).map(([name, version]) => [name, version === 'tarball' ? files[name] : version]),
  )
  const held = Object.fromEntries(
    Object.entries({ ...files, ...wanted.held }).filter(([name]) => !(name in dependencies)),
  )
  return { base: { name: 'project', private: true, type: 'module', dependencies }, held }
}

const writeManifest = (folder: string, content: Manifest) =>
  writeFile(join(folder, 'package.json'), JSON.stringify(content, null, 2))

const none = () => []

export const npm: PackageManager = {
  name: 'npm',
  nodeArgs: none,
  async install(folder, wanted, tarballs) {
    const { base, held } = manifest(wanted, tarballs)
    await writeManifest(folder, { ...base, overrides: held })
    return run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder })
  },
}

export const pnpm: PackageManager = {
  name: 'pnpm',
  nodeArgs: none,
  async install(folder, wanted, tarballs) {
    const { base, held } = manifest(wanted, tarballs)
    await writeManifest(folder, { ...base, pnpm: { overrides: held } })
    return run('npx', ['-y', 'pnpm@10.34.9', 'install', '--ignore-workspace', '--prefer-offline'], { cwd: folder })
  },
}

export const yarnClassic: PackageManager = {
  name: 'yarn 1',
  nodeArgs: none,
  async install(folder, wanted, tarballs) {
    const { base, held } = manifest(wanted, tarballs)
    // It resolves what a package of Tenure needs by version alone, also if the project has that package as a tarball.
    const own = Object.fromEntries([...tarballs].map(([name, file]) => [name, `file:${file}`]))
    await writeManifest(folder, { ...base, resolutions: { ...own, ...held } })
    // Its cache knows a tarball by name and version: one of an earlier run would be taken for that of today.
    const cache = ['--cache-folder', join(folder, '.yarn-cache')]
    return run('npx', ['-y', 'yarn@1.22.22', 'install', '--no-progress', ...cache], { cwd: folder })
  },
}

/** Without `node_modules`: packages find only what they ask for. */
export const yarnPnp: PackageManager = {
  name: 'yarn PnP',
  nodeArgs: (folder) => [
    '--require',
    join(folder, '.pnp.cjs'),
    '--experimental-loader',
    join(folder, '.pnp.loader.mjs'),
  ],
  async install(folder, wanted, tarballs) {
    const { base, held } = manifest(wanted, tarballs)
    await writeManifest(folder, { ...base, resolutions: held })
    await writeFile(join(folder, 'yarn.lock'), '')
    const settings = ['nodeLinker: pnp', 'enableTelemetry: false', 'enableGlobalCache: true', 'npmMinimalAgeGate: 0']
    await writeFile(join(folder, '.yarnrc.yml'), `${settings.join('\n')}\n`)
    const registry = (await run('npm', ['config', 'get', 'registry'], { cwd: folder })).output.trim().split('\n').at(-1)
    const env = plainEnvironment({ YARN_NPM_REGISTRY_SERVER: registry, YARN_ENABLE_IMMUTABLE_INSTALLS: 'false' })
    return run('npx', ['-y', '@yarnpkg/cli-dist@4.18.1', 'install'], { cwd: folder, env })
  },
}
