// Prints the definitions of every call in the TypeScript files below a directory, by the compiler of npm, as
// JSON lines: node typescript.js DIR PREFIX…
const ts = require('typescript')
const path = require('path')
const { execFileSync } = require('child_process')

const [root, ...prefixes] = process.argv.slice(2)
const listed = execFileSync('git', ['ls-files', '-z', '*.ts', '*.tsx', '*.mts', '*.cts'], { cwd: root, maxBuffer: 1 << 28 })
const inside = file => prefixes.length === 0 || prefixes.some(prefix => file.startsWith(prefix))
const files = listed.toString().split('\0').filter(file => file && inside(file) && ts.sys.fileExists(path.join(root, file)))
const config = ['tsconfig.base.json', 'tsconfig.json'].map(name => path.join(root, name)).find(ts.sys.fileExists)
const read = config ? ts.readConfigFile(config, ts.sys.readFile).config : {}
const { options } = ts.parseJsonConfigFileContent({ ...read, files: [] }, ts.sys, root, {}, config)
const program = ts.createProgram(files.map(file => path.join(root, file)), { ...options, noEmit: true, skipLibCheck: true })
const checker = program.getTypeChecker()

function isDefinition(node) {
  if (ts.isPropertySignature(node) || ts.isPropertyDeclaration(node) || ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node)) {
    let value = node.initializer
    while (value && (ts.isParenthesizedExpression(value) || ts.isAsExpression(value) || ts.isSatisfiesExpression(value))) value = value.expression
    return Boolean(value) && (ts.isArrowFunction(value) || ts.isFunctionExpression(value) || ts.isClassExpression(value))
  }
  return ts.isFunctionLike(node) && !ts.isFunctionTypeNode(node) && !ts.isCallSignatureDeclaration(node) || ts.isClassDeclaration(node) || ts.isEnumDeclaration(node)
    || ts.isInterfaceDeclaration(node)
}

function report(source, file, name) {
  let symbol = checker.getSymbolAtLocation(name)
  while (symbol && symbol.flags & ts.SymbolFlags.Alias) {
    const next = checker.getAliasedSymbol(symbol)
    if (next === symbol || next.escapedName === 'unknown') { symbol = undefined; break }
    symbol = next
  }
  if (!symbol || !symbol.declarations) return
  const definitions = []
  let kind = 'value'
  for (const declared of symbol.declarations) {
    const of = declared.getSourceFile()
    const relative = path.relative(root, of.fileName)
    if (relative.startsWith('..') || relative.includes('node_modules')) {
      kind = 'library'
      continue
    }
    // A type of a library that the repository extends is of the library.
    if (isDefinition(declared) && kind !== 'library') kind = 'definition'
    const named = declared.name || declared
    const line = of.getLineAndCharacterOfPosition(named.getStart(of)).line + 1
    const text = declared.name ? declared.name.getText(of) : 'default'
    definitions.push([relative, line, text])
    if (ts.isClassLike(declared)) {
      for (const member of declared.members) {
        if (ts.isConstructorDeclaration(member)) definitions.push([relative, of.getLineAndCharacterOfPosition(member.getStart(of)).line + 1, 'constructor'])
      }
    }
  }
  const start = name.getStart(source)
  const { line, character } = source.getLineAndCharacterOfPosition(start)
  const column = Buffer.byteLength(source.text.slice(start - character, start)) + 1
  process.stdout.write(JSON.stringify([[file, line + 1, column, name.text], kind, definitions]) + '\n')
}

for (const file of files) {
  const source = program.getSourceFile(path.join(root, file))
  const visit = (node) => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      let callee = node.expression
      while (ts.isParenthesizedExpression(callee) || ts.isNonNullExpression(callee)) callee = callee.expression
      if (ts.isIdentifier(callee)) report(source, file, callee)
      else if (ts.isPropertyAccessExpression(callee)) report(source, file, callee.name)
    }
    ts.forEachChild(node, visit)
  }
  if (source) visit(source)
}
