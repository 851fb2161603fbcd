//! An opened index.

use serde_json::{Value, json};

use super::address::Address;
use super::error::OrgError;
use super::http::{Connection, Method, PATIENT, QUICK, checked};
use super::schema::{self, Kind, Layout, Meta, OLDEST, SCRIPT_VERSION, VERSION};

/// An index of an organisation.
pub struct Org {
    pub(super) connection: Connection,
    /// What its rows have in common.
    pub meta: Meta,
}

impl std::fmt::Debug for Org {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Org({})", self.connection.address)
    }
}

impl Org {
    /// Opens an index to change it: waits for an engine that is busy.
    ///
    /// # Errors
    /// [`OrgError::Missing`], [`OrgError::Unfit`] for another version, and those of the connection.
    pub fn open(address: Address) -> Result<Org, OrgError> {
        Org::open_with(Connection::new(address, PATIENT))
    }

    /// As [`Self::open`], for requests of a user.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_search(address: Address) -> Result<Org, OrgError> {
        Org::open_with(Connection::new(address, QUICK))
    }

    fn open_with(connection: Connection) -> Result<Org, OrgError> {
        let Address { urls, prefix, .. } = &connection.address;
        let alias = Kind::Rows.alias(prefix);

        let answer = connection.send(Method::Get, &format!("{alias}/_mapping"), None)?;
        if answer.status == 404 {
            return Err(OrgError::Missing { url: urls.join(","), prefix: prefix.clone() });
        }
        let mappings = checked(answer)?;

        // Behind the alias is one index.
        let meta = mappings.as_object().and_then(|indices| indices.values().next());
        let meta = meta.map(|index| index["mappings"]["_meta"].clone()).unwrap_or_default();
        let unfit = |why: String| OrgError::Unfit { prefix: prefix.clone(), why };
        let meta: Meta = serde_json::from_value(meta)
            .map_err(|error| unfit(format!("its description cannot be read: {error}")))?;

        let own = Meta::new(&meta.space, meta.dim, meta.texts);
        if !(OLDEST..=VERSION).contains(&meta.version) || meta.terms != own.terms {
            let (found, own) = ((meta.version, meta.terms), (own.version, own.terms));
            return Err(unfit(format!("it has version {found:?}, this program reads {own:?}")));
        }
        Ok(Org { connection, meta })
    }

    /// Creates an index.
    ///
    /// # Errors
    /// [`OrgError::Exists`], and those of the connection.
    pub fn create(address: Address, meta: Meta, layout: Layout) -> Result<Org, OrgError> {
        let connection = Connection::new(address, PATIENT);
        let org = Org { connection, meta };

        let prefix = &org.connection.address.prefix;
        let rows = format!("{}/_mapping", Kind::Rows.alias(prefix));
        if org.connection.send(Method::Get, &rows, None)?.status != 404 {
            return Err(OrgError::Exists { prefix: prefix.clone() });
        }

        // The rows last: without them, what is there is of an attempt that was interrupted.
        org.put_script()?;
        for kind in [Kind::Repos, Kind::Files, Kind::Rows] {
            org.create_one(kind, layout)?;
        }
        Ok(org)
    }

    /// Creates one of its indices, also in place of an empty one.
    fn create_one(&self, kind: Kind, layout: Layout) -> Result<(), OrgError> {
        let Org { connection, meta } = self;
        let prefix = &connection.address.prefix;
        let index = kind.index(prefix, 1);
        let mut definition = schema::definition(kind, meta, layout);
        definition["aliases"] = json!({ kind.alias(prefix): { "is_write_index": true } });
        let body = definition.to_string();

        let create = || connection.send(Method::Put, &index, Some(body.as_bytes()));
        let answer = create()?;
        if answer.body["error"]["type"] != "resource_already_exists_exception" {
            return checked(answer).map(drop);
        }

        let count = connection.ask(Method::Get, &format!("{index}/_count"), None)?;
        if count["count"] != json!(0) {
            return Err(OrgError::Exists { prefix: prefix.clone() });
        }
        connection.ask(Method::Delete, &index, None)?;
        checked(create()?).map(drop)
    }

    /// Stores the script that sets places.
    pub(super) fn put_script(&self) -> Result<(), OrgError> {
        let script = json!({ "script": { "lang": "painless", "source": schema::PLACE } });
        self.connection.ask(Method::Put, &format!("_scripts/{}", self.script()), Some(&script)).map(drop)
    }

    /// The name of the script that sets places.
    pub(super) fn script(&self) -> String {
        format!("{}-place-{SCRIPT_VERSION}", self.connection.address.prefix)
    }

    /// Checks that documents of the present fields can be sent.
    ///
    /// # Errors
    /// [`OrgError::Outdated`].
    pub fn check_version(&self) -> Result<(), OrgError> {
        match self.meta.version {
            VERSION => Ok(()),
            version => Err(OrgError::Outdated { prefix: self.connection.address.prefix.clone(), version }),
        }
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.connection.address
    }

    /// Number of bytes that were sent so far.
    pub fn n_sent(&self) -> u64 {
        self.connection.n_sent()
    }

    /// Checks that its vectors are of the model `space`.
    ///
    /// # Errors
    /// [`OrgError::Unfit`].
    pub fn check_space(&self, space: &str) -> Result<(), OrgError> {
        if self.meta.space == space {
            return Ok(());
        }
        Err(OrgError::Unfit {
            prefix: self.connection.address.prefix.clone(),
            why: "its vectors are of another model than that of the settings".to_owned(),
        })
    }

    pub(super) fn alias(&self, kind: Kind) -> String {
        kind.alias(&self.connection.address.prefix)
    }

    /// Makes everything that was sent visible to searches.
    pub(super) fn refresh(&self) -> Result<(), OrgError> {
        let indices = Kind::ALL.map(|kind| self.alias(kind)).join(",");
        let answer = self.connection.ask(Method::Post, &format!("{indices}/_refresh"), None)?;
        no_failures(&answer)
    }
}

/// Checks that all shards have answered. One that is on no node has not failed, and is missing all the same.
pub(super) fn all_shards(answer: &Value) -> Result<(), OrgError> {
    let number = |name: &str| answer["_shards"][name].as_u64().unwrap_or(0);
    let n_missing = number("total").saturating_sub(number("successful")).max(number("failed"));
    match n_missing {
        0 => Ok(()),
        n => Err(OrgError::Degraded { why: format!("{n} shards did not answer") }),
    }
}

/// Checks that no shard failed. A change is made on the copies that there are.
fn no_failures(answer: &Value) -> Result<(), OrgError> {
    match answer["_shards"]["failed"].as_u64().unwrap_or(0) {
        0 => Ok(()),
        n => Err(OrgError::Degraded { why: format!("{n} shards failed") }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_shard_that_is_on_no_node_is_missing() {
        let answer = |successful, failed| json!({ "_shards": { "total": 3, "successful": successful, "failed": failed } });
        assert!(all_shards(&answer(3, 0)).is_ok());
        for (successful, failed) in [(2, 0), (2, 1)] {
            let error = all_shards(&answer(successful, failed)).unwrap_err();
            assert!(format!("{error:?}").contains("1 shards did not answer"), "{error:?}");
        }

        // A change is made on the copies that there are.
        assert!(no_failures(&answer(2, 0)).is_ok());
        assert!(no_failures(&answer(2, 1)).is_err());
    }
}
