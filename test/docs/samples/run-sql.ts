import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { startPostgres } from '../../stores/servers/postgres-server.ts'

/*
 * Runs the statements of a file on an empty database of a real PostgreSQL. A statement with parameters is prepared, which checks
 * everything that it names.
 */
const [file = ''] = process.argv.slice(2)
const server = await startPostgres()
const client = new Client(server.connection)
try {
  await client.connect()
  for (const [index, statement] of statementsOf(readFileSync(file, 'utf8')).entries()) {
    await client.query(statement.includes('$1') ? `PREPARE sample_${index} AS ${statement}` : statement)
  }
} finally {
  await client.end()
  await server.stop()
}

/** The statements without comments. No sample has a semicolon within a text. */
function statementsOf(text: string): readonly string[] {
  const statements = text.replaceAll(/--.*$/gm, '').split(';')
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '')
}
