// An import of Store shows the targets below it too. Only files of these four targets import them by name.
@_exported public import StoreDeliveries
@_exported public import StoreGround
@_exported public import StoreRegistry
