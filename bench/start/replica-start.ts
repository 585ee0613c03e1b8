import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { replicaEnvironment } from '@tenure/test-control-plane'
import { CoordinationV1Api, KubeConfig, V1MicroTime } from '@kubernetes/client-node'
import { startApiServer, type ApiServer } from '@tenure/api-server'
import { rolldown } from 'rolldown'
import type { StartReport } from './start-report.ts'

const run = promisify(execFile)
const LEASE = { name: 'start', namespace: 'ops' }

/** The start of one replica. */
export interface ReplicaStart extends StartReport {
  /** From the order to start the process to the moment at which the replica knew the leader, in milliseconds. */
  readonly candidateMs: number
}

/** The program of a replica with its packages beside it, or as one file. */
export type Form = 'packages' | 'bundle'

/** Starts replicas that follow a leader on an embedded API server, each in a process of its own. */
export class ReplicaStarter implements AsyncDisposable {
  readonly #resources: AsyncDisposableStack
  readonly #programs: Readonly<Record<Form, readonly string[]>>
  readonly #env: NodeJS.ProcessEnv

  private constructor(
    resources: AsyncDisposableStack,
    programs: Readonly<Record<Form, readonly string[]>>,
    kubeConfigPath: string,
  ) {
    this.#resources = resources
    this.#programs = programs
    const lease = { TENURE_LEASE: LEASE.name, TENURE_NAMESPACE: LEASE.namespace }
    this.#env = { ...replicaEnvironment(), ...lease, KUBECONFIG: kubeConfigPath }
  }

  static async create(): Promise<ReplicaStarter> {
    await using resources = new AsyncDisposableStack()
    const folder = await mkdtemp(join(tmpdir(), 'tenure-start-'))
    resources.defer(() => rm(folder, { recursive: true, maxRetries: 5 }))
    const server = resources.use(await startApiServer({ autoProvisionNamespaces: true }))
    await createHeldLease(server)
    const kubeConfigPath = join(folder, 'kubeconfig')
    await server.writeKubeConfig(kubeConfigPath)
    const bundled = join(folder, 'replica.mjs')
    const packages = ['--input-type=module', '--eval', await build({ external: 'tenure' })]
    await build({ file: bundled })
    return new ReplicaStarter(resources.move(), { packages, bundle: [bundled] }, kubeConfigPath)
  }

  /** Starts a replica and waits for its end. */
  async start(form: Form): Promise<ReplicaStart> {
    const startedAt = Number(process.hrtime.bigint()) / 1e6
    const { stdout } = await run(process.execPath, this.#programs[form], { cwd: import.meta.dirname, env: this.#env })
    const report: StartReport = JSON.parse(stdout)
    return { ...report, candidateMs: report.candidateAt - startedAt }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync()
  }
}

/** Creates a lease that does not expire while the bench runs. */
async function createHeldLease(server: ApiServer): Promise<void> {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(server.kubeConfig())
  const now = new V1MicroTime()
  const spec = { holderIdentity: 'somebody', leaseDurationSeconds: 86_400, acquireTime: now, renewTime: now }
  const { name, namespace } = LEASE
  await kubeConfig
    .makeApiClient(CoordinationV1Api)
    .createNamespacedLease({ namespace, body: { metadata: { name }, spec } })
}

/** Makes JavaScript of the replica, of the built packages: Node would spend time on types. Returns the code. */
async function build({ external, file }: { readonly external?: string; readonly file?: string }): Promise<string> {
  await using bundle = await rolldown({
    input: join(import.meta.dirname, 'replica.ts'),
    platform: 'node',
    logLevel: 'silent',
    ...(external !== undefined && { external: [external] }),
  })
  const options = { format: 'esm', codeSplitting: false } as const
  const { output } = file === undefined ? await bundle.generate(options) : await bundle.write({ ...options, file })
  return output[0].code
}
