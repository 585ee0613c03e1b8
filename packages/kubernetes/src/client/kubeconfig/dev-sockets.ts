import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '@tenure/core/internal'
import { isJsonObject, type JsonObject, stringAt } from '../../json-object.ts'
import { type DevGreeting, type DevQuestion, isPrivateFolder, pidOfSocket } from './dev-folder.ts'
import { KubeConfigError } from './kube-config-error.ts'

/** How long a `tenure dev` may take to answer. */
const ANSWER_MS = 5000

/** A `tenure dev`, and a connection to it. */
export interface DevConnection {
  readonly pid: number
  /** Undefined if it has ended and left its socket. The connection does not keep the process running. */
  readonly socket: Socket | undefined
}

/**
 * Connects to every `tenure dev` that has a socket in this folder.
 * @throws KubeConfigError if other users can enter the folder
 */
export async function connectToDev(folder: string): Promise<readonly DevConnection[]> {
  return Promise.all(pidsIn(folder).map((pid) => connectTo(join(folder, `${pid}.sock`), pid)))
}

/**
 * Sends one line of JSON, and resolves with the answer.
 * @throws Error with the reason if the request is refused, or no answer arrives
 */
export async function askDev(socket: Socket, request: DevGreeting | DevQuestion): Promise<JsonObject> {
  socket.ref().write(`${JSON.stringify(request)}\n`)
  const answer: unknown = JSON.parse(await lineOf(socket))
  socket.unref().resume()
  if (!isJsonObject(answer)) throw new Error('its answer is malformed')
  const error = stringAt(answer, 'error')
  if (error !== undefined) throw new Error(error)
  return answer
}

function pidsIn(folder: string): readonly number[] {
  try {
    if (isPrivateFolder(folder)) return readdirSync(folder).flatMap((file) => pidOfSocket(file) ?? [])
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
  throw new KubeConfigError(
    `TENURE_DEV=1 does not use ${folder}: it must be a folder that only its owner, this user, can enter`,
  )
}

async function connectTo(path: string, pid: number): Promise<DevConnection> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
  } catch {
    return { pid, socket: undefined }
  }
  socket.unref().on('error', () => {})
  return { pid, socket }
}

function lineOf(socket: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const lines = createInterface({ input: socket })
  lines.once('line', resolve).once('close', () => reject(new Error('it has ended')))
  const timer = systemClock.setTimer(ANSWER_MS, () => reject(new Error(`no answer within ${ANSWER_MS} ms`)))
  return promise.finally(() => {
    timer.cancel()
    lines.close()
  })
}
