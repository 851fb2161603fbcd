//! Queries in other languages than English about English code.

use codeweaver_testkit::TestRepo;

const SESSIONS: &str = "def sign_session_cookie(session, secret):
    \"\"\"Signs the cookie of a session with the secret key.\"\"\"
    return hmac(secret, session.serialize())
";
const CONFIG: &str = "def load_configuration(path):
    \"\"\"Reads the configuration file and validates every setting.\"\"\"
    return validate(parse(path.read_text()))
";
const POOL: &str = "class ConnectionPool:
    \"\"\"Connections to the database that are reused.\"\"\"

    def close(self):
        for connection in self.connections:
            connection.close()
";

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(&[
        ("src/sessions.py", SESSIONS),
        ("src/config.py", CONFIG),
        ("src/pool.py", POOL),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn code_is_found_by_words_of_other_languages() {
    let repo = indexed();
    for (query, path) in [
        ("Wie werden Sitzungscookies signiert?", "src/sessions.py"),
        ("où la configuration est-elle chargée", "src/config.py"),
        ("¿dónde se cierra la conexión a la base de datos?", "src/pool.py"),
        ("onde as configurações são validadas", "src/config.py"),
        ("где закрываются соединения с базой данных", "src/pool.py"),
        ("セッションクッキーの署名", "src/sessions.py"),
        ("如何读取配置文件", "src/config.py"),
        ("데이터베이스 연결 닫기", "src/pool.py"),
    ] {
        let answer = repo.codeweaver(["search", "-o", "json", query]).success().json();
        assert_eq!(answer["matches"][0]["file"]["path"], path, "{query}: {answer:#}");
        let strategies = answer["search_strategy"].as_array().unwrap();
        assert!(strategies.contains(&"translated_words".into()), "{query}");
        assert_eq!(answer["status"], "ok", "{query}: a note is no fault");
        let warnings = answer["warnings"].to_string();
        assert!(warnings.contains("searched for the English words"), "{query}: {warnings}");
    }
}

#[test]
fn what_is_indexed_in_the_language_of_the_query_is_found_by_it() {
    let repo = indexed();
    repo.write(
        "src/zahlung.py",
        "def zahlung_buchen(rechnung):\n    \"\"\"Bucht die Zahlung einer Rechnung.\"\"\"\n",
    );
    let answer = repo.codeweaver(["search", "-o", "json", "Zahlung einer Rechnung"]).success().json();
    assert_eq!(answer["matches"][0]["file"]["path"], "src/zahlung.py", "{answer:#}");
    assert!(!answer["search_strategy"].to_string().contains("translated"), "{answer:#}");
}

#[test]
fn queries_about_something_else_are_still_refused() {
    let repo = indexed();
    for query in ["Wie backe ich einen Kuchen mit Äpfeln?", "recette de soupe à l'oignon", "寿司の作り方"]
    {
        let answer = repo.codeweaver(["search", "-o", "json", query]).json();
        assert_eq!(answer["total_results"], 0, "{query}: {answer:#}");
    }
}
