import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { rolldown } from 'rolldown'

/*
 * Bundles the packages that a service imports, because Node takes twice as long to load their 360 modules. Each package gets one file per
 * entry point, and chunks for what entry points share. Dependencies stay imports, also those on other packages of Tenure. The compiler
 * writes only the types.
 */
const PACKAGES = ['core', 'kubernetes', 'ops', 'tenure']

/** The files in `dist` that package.json names, by their path without the extension. */
function entriesOf(folder: string): Readonly<Record<string, string>> {
  const files = readFileSync(join(folder, 'package.json'), 'utf8').matchAll(/"\.\/dist\/([^"]+)\.js"/g)
  return Object.fromEntries([...files].map(([, path = '']) => [path, join(folder, 'src', `${path}.ts`)]))
}

async function bundle(folder: string): Promise<void> {
  const input = entriesOf(folder)
  for (const file of globSync(join(folder, 'dist/**/*.js{,.map}'))) rmSync(file)
  const build = await rolldown({
    input,
    platform: 'node',
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
    transform: { target: 'es2023' },
  })
  await build.write({
    dir: join(folder, 'dist'),
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/shared.js',
    sourcemap: true,
  })
  await build.close()
  const missing = Object.keys(input).filter((path) => !existsSync(join(folder, 'dist', `${path}.js`)))
  if (missing.length > 0) throw new Error(`Expected ${folder} to contain dist/${missing.join('.js, dist/')}.js`)
}

await Promise.all(PACKAGES.map((name) => bundle(join(import.meta.dirname, '../packages', name))))
