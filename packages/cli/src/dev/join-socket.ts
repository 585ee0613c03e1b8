import { once } from 'node:events'
import { chmod, mkdir, readdir, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { pid } from 'node:process'
import { createInterface } from 'node:readline'
import { textOf } from '@tenure/core/internal'
import {
  type DevGreeting,
  integerAt,
  isJsonObject,
  isPrivateFolder,
  type JsonObject,
  pidOfSocket,
  stringAt,
} from '@tenure/kubernetes/internal'

/** A program that has joined. */
export interface JoinedProgram {
  readonly kubeConfigPath: string
  /** Called when its connection has ended. */
  leave(): void
}

/** A replica of a running `tenure dev`. */
export interface FoundReplica {
  /** Undefined if it has no operations port. */
  readonly opsPort: number | undefined
}

/** Answers what comes through the socket. Rejects with what to say. */
export interface JoinHost {
  /** What tells this `tenure dev` from the others, and is the same when it runs again. */
  readonly project: string
  /** Decides about a program. */
  admit(greeting: DevGreeting): Promise<JoinedProgram>
  /** Finds the replica with this identity; undefined if it is unknown. */
  find(identity: string): FoundReplica | undefined
  /** Kills the replica with this identity. */
  kill(identity: string): void
}

/**
 * The socket through which programs with `TENURE_DEV=1` join, and through which other commands ask where a replica is. The connection of a
 * program lasts as long as the program.
 */
export class JoinSocket implements AsyncDisposable {
  readonly #server: Server
  readonly #path: string
  readonly #open: Set<Socket>

  private constructor(server: Server, path: string, open: Set<Socket>) {
    this.#server = server
    this.#path = path
    this.#open = open
  }

  /**
   * Opens the socket in a folder, which is made if it does not exist, and removes what earlier processes left there.
   * @throws Error if the folder is not private, or the socket cannot be opened
   */
  static async open(folder: string, host: JoinHost): Promise<JoinSocket> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (!isPrivateFolder(folder)) throw new Error(`other users can enter ${folder}`)
    await removeStale(folder)
    const open = new Set<Socket>()
    const server = createServer((socket) => {
      open.add(socket)
      socket.once('close', () => void open.delete(socket)).on('error', () => {})
      void receive(socket, host)
    })
    const path = join(folder, `${pid}.sock`)
    await rm(path, { force: true })
    await once(server.listen(path), 'listening')
    await chmod(path, 0o600)
    return new JoinSocket(server, path, open)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#open) socket.destroy()
    await closed
    await rm(this.#path, { force: true })
  }
}

async function removeStale(folder: string): Promise<void> {
  const files = (await readdir(folder)).filter((file) => pidOfSocket(file) !== undefined)
  await Promise.all(
    files.map(async (file) => {
      const path = join(folder, file)
      if (!(await isListening(path))) await rm(path, { force: true })
    }),
  )
}

async function isListening(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** Answers each line with a line. */
async function receive(socket: Socket, host: JoinHost): Promise<void> {
  for await (const line of createInterface({ input: socket })) {
    const answer = await answerTo(line, socket, host).catch((error: unknown) => ({ error: textOf(error) }))
    if (!socket.destroyed) socket.write(`${JSON.stringify(answer)}\n`)
  }
}

async function answerTo(line: string, socket: Socket, host: JoinHost): Promise<object> {
  const said: unknown = JSON.parse(line)
  const request = isJsonObject(said) ? said : {}
  const about = stringAt(request, 'about')
  const answer =
    about === undefined ? await admit(socket, host, request) : answerAbout(about, request['kill'] === true, host)
  return { ...answer, project: host.project }
}

async function admit(socket: Socket, host: JoinHost, request: JsonObject): Promise<object> {
  const program = await host.admit(greetingIn(request))
  if (socket.destroyed) program.leave()
  else socket.once('close', () => program.leave())
  return { kubeConfigPath: program.kubeConfigPath }
}

function answerAbout(identity: string, isToBeKilled: boolean, host: JoinHost): object {
  const found = host.find(identity)
  if (found !== undefined && isToBeKilled) host.kill(identity)
  return { isKnown: found !== undefined, ...found }
}

function greetingIn(said: JsonObject): DevGreeting {
  const [identity, own, opsPort] = [stringAt(said, 'identity'), integerAt(said, 'pid'), integerAt(said, 'opsPort')]
  // Signals to 0 and to negative numbers would reach a whole group of processes.
  if (identity === undefined || own === undefined || own <= 1)
    throw new Error('it did not say its identity and its PID: its version of Tenure is another one')
  return { identity, pid: own, ...(opsPort !== undefined && { opsPort }) }
}
