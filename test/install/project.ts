import { spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cluster } from './cluster.ts'
import { type Outcome, run, succeed } from './command.ts'
import { plainEnvironment } from './environment.ts'
import type { PackageManager, Wanted } from './package-manager.ts'
import { readmeExample } from './readme-example.ts'
import { ROOT, type Tarballs } from './tarballs.ts'

/** How long a program may take to lead, or to stop, on a busy machine. */
const PATIENCE_MS = 60_000

/** What the declarations of client-node need of others, so that all declarations can be checked. */
const TYPES = { '@types/node': '^24.19.2', '@types/ws': '^8.18.1' }

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2024', 'esnext.disposable', 'dom'],
    types: ['node'],
    noEmit: true,
    allowImportingTsExtensions: true,
  },
  include: ['*.ts'],
}

/** A command, with the arguments that come before a file. */
export type Runtime = string | readonly string[]

/** A program of somebody who has just installed Tenure: that of the README, as `main.ts`. */
export class Project {
  readonly folder: string
  readonly #manager: PackageManager

  private constructor(folder: string, manager: PackageManager) {
    this.folder = folder
    this.#manager = manager
  }

  /** Installs. The outcome says how that went; nothing is checked. */
  static async install(
    folder: string,
    manager: PackageManager,
    { wanted, tarballs }: { readonly wanted: Wanted; readonly tarballs: Tarballs },
  ): Promise<{ readonly project: Project; readonly outcome: Outcome }> {
    await mkdir(folder)
    await writeFile(join(folder, 'main.ts'), readmeExample())
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG))
    const dependencies = { ...TYPES, ...wanted.dependencies }
    const outcome = await manager.install(folder, { ...wanted, dependencies }, tarballs)
    return { project: new Project(folder, manager), outcome }
  }

  /** @throws Error with what the compiler says */
  async checkTypes(): Promise<void> {
    await succeed(join(ROOT, 'node_modules/.bin/tsc'), ['-p', this.folder], { cwd: this.folder })
  }

  /** Runs a file to its end, with Node or with another runtime and its arguments. */
  run(runtime: Runtime, file: string, env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const [command = '', ...args] = [runtime].flat()
    return run(command, [...args, ...this.#args(file)], { cwd: this.folder, env: plainEnvironment(env), signal })
  }

  /**
   * Runs the program until it has done its work, then stops it.
   * @throws Error when it does not lead, does not end with code 0, or does not release the lease
   */
  async lead(runtime: Runtime, cluster: Cluster, file = 'main.ts'): Promise<void> {
    const [command = '', ...args] = [runtime].flat()
    const kubeConfig = join(this.folder, 'kubeconfig')
    await cluster.server.writeKubeConfig(kubeConfig)
    const { gone } = await cluster.bait()
    const env = plainEnvironment({ KUBECONFIG: kubeConfig, TENURE_OPS_PORT: '0' })
    const child = spawn(command, [...args, ...this.#args(file)], {
      cwd: this.folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    const ended = new Promise<string>((resolve) =>
      child.once('close', (code, signal) => resolve(`ended with ${signal ?? `code ${code}`}`)),
    )
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
    try {
      const outcome = await Promise.race([gone, ended])
      if (outcome !== undefined) throw new Error(`it ${outcome} before it has led:\n${output}`)
      child.kill('SIGTERM')
      const end = await ended
      if (end !== 'ended with code 0') throw new Error(`it ${end} after SIGTERM:\n${output}`)
      if (cluster.holder() !== '') throw new Error(`the lease is held by ${String(cluster.holder())} after the end`)
    } finally {
      clearTimeout(timer)
      child.kill('SIGKILL')
    }
  }

  #args(file: string): string[] {
    return [...this.#manager.nodeArgs(this.folder), file]
  }
}
