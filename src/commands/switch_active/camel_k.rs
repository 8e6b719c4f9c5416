//! The switch between instances of Camel K that share an id.

use crate::{
    cluster::Cluster,
    commands::Session,
    error::{Error, Exit, Result},
};

use super::SwitchActiveArgs;

pub async fn run(_: &Session<'_>, _: &Cluster, _: &SwitchActiveArgs, _: Option<&str>) -> Result<Exit> {
    Err(Error::failed("x", "y"))
}
