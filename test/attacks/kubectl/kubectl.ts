import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { locateProgram } from '@tenure/test-control-plane'

/** What a command came to. */
export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** kubectl with a kubeconfig, and a folder for what it keeps, of its own. */
export class Kubectl implements AsyncDisposable {
  readonly #program: string
  readonly #folder: string

  private constructor(program: string, folder: string) {
    this.#program = program
    this.#folder = folder
  }

  static async open(kubeConfig: string): Promise<Kubectl> {
    const folder = await mkdtemp(join(tmpdir(), 'tenure-kubectl-'))
    await writeFile(join(folder, 'kubeconfig'), kubeConfig, { mode: 0o600 })
    return new Kubectl(await locateProgram('kubectl'), folder)
  }

  /** Runs one command; words are separated by spaces. */
  async run(line: string, stdin = ''): Promise<Outcome> {
    const child = spawn(this.#program, line.split(' '), {
      env: {
        PATH: process.env['PATH'],
        HOME: this.#folder,
        KUBECONFIG: join(this.#folder, 'kubeconfig'),
        KUBE_EDITOR: 'sed -i s/forced/edited/',
      },
    })
    child.stdin.end(stdin)
    const [[code], stdout, stderr] = await Promise.all([
      once(child, 'close') as Promise<[number | null]>,
      text(child.stdout),
      text(child.stderr),
    ])
    return { code, stdout, stderr }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Makes the outcomes of two servers comparable: what differs from run to run is replaced by what it is. */
export function normalised({ code, stdout, stderr }: Outcome): Outcome {
  return { code, stdout: plain(stdout), stderr: plain(stderr) }
}

function plain(output: string): string {
  return output
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| [+-]\d{4} UTC)?/g, '<time>')
    .replaceAll(/(Resource Version: +)\d+/g, '$1<version>')
    .replaceAll(/(resourceVersion"?: ")\d+"/g, '$1<version>"')
    .replaceAll(/(?<=\s)\d+s\b/g, '<age>')
    .replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, '<server>')
    .replaceAll(/\/tmp\/\S+/g, '<file>')
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ +$/gm, '')
}
