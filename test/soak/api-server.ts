import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** The kind of API server: the embedded one, or etcd and kube-apiserver. */
export type ApiServerKind = 'embedded' | 'real'

/** The identity of the replica that leads one term after the other. */
export const REPLICA = 'soak'

/** An order to the process of the API server to set the holder of a lease. */
export interface HolderCommand {
  readonly lease: string
  readonly holder: string
}

/** An API server in another process. */
export class ApiServer implements AsyncDisposable {
  /** The text of a kubeconfig for an administrator. */
  readonly kubeConfig: string
  readonly #child: ChildProcess
  #isStopping = false

  private constructor(kubeConfig: string, child: ChildProcess) {
    this.kubeConfig = kubeConfig
    this.#child = child
    child.once('exit', (code) => {
      if (!this.#isStopping) throw new Error(`The API server ended with ${code}`)
    })
  }

  /** Starts it. @throws Error if it does not start. */
  static async start(kind: ApiServerKind): Promise<ApiServer> {
    const child = fork(join(import.meta.dirname, 'api-server-process.ts'), [kind], {
      execArgv: ['--conditions=@tenure/source', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const [kubeConfig] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown]
    if (typeof kubeConfig !== 'string') throw new Error(`The ${kind} API server did not start`)
    return new ApiServer(kubeConfig, child)
  }

  /** Sets the holder of a lease; the empty text for none. @throws Error if that fails */
  async setHolder(lease: string, holder: string): Promise<void> {
    // Not raced with the exit, which ends this process anyway: a race leaves a reaction on its longest promise.
    const answered = once(this.#child, 'message')
    this.#child.send({ lease, holder } satisfies HolderCommand)
    const [answer] = (await answered) as [unknown]
    if (answer !== 'done') throw new Error(`Expected \`${holder}\` to hold \`${lease}\`, but ${String(answer)}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }
}
